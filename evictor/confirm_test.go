package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

func ready(t *testing.T, e *evictor.Evictor, node string) v1.ConditionStatus {
	t.Helper()
	status, ok := e.Node(node)
	require.True(t, ok)
	return status.Verdict.Ready
}

// Of two nodes whose renewals are lost, one lives and one dies: the API server knows which.
func TestLostLeaseEvents(t *testing.T) {
	for name, cfg := range periods() {
		t.Run(name, func(t *testing.T) {
			asked := map[string]int{}
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Heartbeats(10*time.Second, time.Hour))
			e := c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
				if d.Kind == evictor.SuspectAlive {
					asked[d.Node]++
				}
			})})
			c.LoseLeases("a-0", "a-1")
			c.Advance(30 * time.Second)
			c.Fail("a-1")
			for range 20 {
				c.Advance(30 * time.Second)
				require.Equal(t, v1.ConditionTrue, ready(t, e, "a-0"))
				require.Empty(t, c.Taints("a-0"))
			}
			require.True(t, c.HasNoExecute("a-1"))
			require.InDelta(t, 12, asked["a-0"], 1, "once in each grace period")
			require.Equal(t, 1, asked["a-1"], "its last renewals were lost too")
			require.Zero(t, asked["a-2"], "it beats")
			require.Empty(t, e.Suspects())
		})
	}
}

// A node that is silent indeed is Unknown when it would be without the question, its zone too, and in the same Step.
func TestAnsweredInTheSamePass(t *testing.T) {
	for _, cfg := range onBothGrids(evictor.DefaultConfig()) {
		var told [2][]string
		for i, confirmed := range []bool{false, true} {
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 3), evictortest.PodsPerNode(1))
			clients := c.Clients()
			if !confirmed {
				clients.Confirmer = nil
			}
			startWith(t, c, cfg, clients, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) { told[i] = append(told[i], d.String()) })})
			c.Advance(time.Minute)
			c.Fail("a-0", "a-1", "a-2", "b-0")
			c.Advance(3 * time.Minute)
			c.Recover("a-1")
			c.Fail("a-3", "b-1", "b-2")
			c.Advance(10 * time.Minute)
		}
		require.NotEmpty(t, told[0])
		require.Equal(t, told[0], told[1])
	}
}

// Nobody can say whether a silent node lives: it counts as before, is asked about again, and shows.
func TestUnansweredWaitsAndShows(t *testing.T) {
	for name, cfg := range periods() {
		t.Run(name, func(t *testing.T) {
			var told []string
			c := evictortest.New(t, evictortest.Zone("a", 3))
			e := c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
				if d.Kind == evictor.SuspectUnanswered {
					told = append(told, d.Node+": "+d.Err.Error())
				}
			})})
			c.FailReads(errors.New("forbidden"))
			c.Advance(30 * time.Second)
			c.Fail("a-0")
			c.Advance(5 * time.Minute)
			require.Equal(t, v1.ConditionTrue, ready(t, e, "a-0"))
			require.Zero(t, e.Zones()[0].Counts.Bad, "it counts as before")
			status, _ := e.Node("a-0")
			require.EqualError(t, status.Unanswered, "forbidden")
			require.Len(t, e.Suspects(), 1)
			require.Equal(t, []string{"a-0: forbidden"}, told, "once")
			backlog := e.Backlogs()[4]
			require.Equal(t, 1, backlog.Len)
			require.Greater(t, backlog.Oldest, 4*time.Minute)

			c.FailReads(nil)
			c.Advance(cfg.RetryMax + cfg.NodeMonitorPeriod)
			require.Equal(t, v1.ConditionUnknown, ready(t, e, "a-0"))
			require.Empty(t, e.Suspects())
		})
	}
}

// Suspects that the API server could not be asked about are asked about again within a pass of its return, however long it
// was away, and not when their own backoff ends.
func TestSuspectsAreAskedAboutWhenTheAPIServerIsBack(t *testing.T) {
	for _, cfg := range onBothGrids(evictor.DefaultConfig()) {
		cfg.RetryMax = time.Hour
		c := evictortest.New(t, evictortest.Zone("a", 6))
		e := c.Start(cfg)
		c.Advance(30 * time.Second)
		c.SetAPIDown(true)
		c.Fail("a-0", "a-1")
		c.Advance(30 * time.Minute)
		require.Len(t, e.Suspects(), 2)
		c.SetAPIDown(false)
		c.Advance(max(cfg.NodeMonitorPeriod, 5*time.Second) + cfg.RetryInitial)
		require.Empty(t, e.Suspects())
		require.Equal(t, v1.ConditionUnknown, ready(t, e, "a-0"))
		require.Equal(t, v1.ConditionUnknown, ready(t, e, "a-1"))
	}
}

// Those about whom nobody could be asked while the API server was down are concluded about together when it is back: a
// cluster that was lost is not seen as one with a single failed node, which would be tainted.
func TestSuspectsOfAnOutageAreConcludedTogether(t *testing.T) {
	for _, cfg := range onBothGrids(evictor.DefaultConfig()) {
		c := evictortest.New(t, evictortest.Zone("a", 4))
		e := c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			require.NotContains(t, d.String(), "NoExecute")
		})})
		c.Advance(30 * time.Second)
		c.SetAPIDown(true)
		nodes := []string{"a-0", "a-1", "a-2", "a-3"}
		c.Fail(nodes...)
		c.Advance(5 * time.Minute)
		require.Len(t, e.Suspects(), len(nodes))
		c.SetAPIDown(false)
		c.Advance(time.Minute)
		require.Empty(t, e.Suspects())
		for _, node := range nodes {
			require.Equal(t, v1.ConditionUnknown, ready(t, e, node))
		}
	}
}

// A zone is evaluated with the suspects that the same pass has found: a newcomer does not make it normal for a moment.
func TestAZoneIsEvaluatedWithItsSuspects(t *testing.T) {
	passes := 0 // until the last node is Unknown
	for _, newcomer := range []bool{false, true} {
		c := evictortest.New(t, evictortest.Zone("a", 9))
		var states []zone.State
		e := c.Start(config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.ZoneChanged {
				states = append(states, d.State)
			}
		})})
		c.Fail("a-0", "a-1", "a-2", "a-3", "a-4")
		c.Advance(2 * time.Minute)
		c.Fail("a-5")
		for n := 1; ready(t, e, "a-5") == v1.ConditionTrue; n++ {
			if newcomer && n == passes {
				c.AddNode("new", zone.Key{Zone: "a"})
			} else if !newcomer {
				passes = n
			}
			c.Advance(config().NodeMonitorPeriod)
		}
		require.Equal(t, []zone.State{zone.Normal, zone.PartialDisruption}, states, newcomer)
	}
}

// Others may ask whoever knows. They are asked in the order in which grace periods ended, with nothing locked.
func TestOthersMayAnswer(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Heartbeats(10*time.Second, time.Hour))
	var e *evictor.Evictor
	var asked []string
	clients := c.Clients()
	clients.Confirmer = evictor.ConfirmFunc(func(_ context.Context, s evictor.Suspect) (evictor.Answer, error) {
		e.Zones()
		_, _ = e.Node(s.Node) // this would wait for ever if it were locked
		asked = append(asked, fmt.Sprintf("%s %s of %d", s.Node, s.Due.Sub(evictortest.Epoch), s.Waiting))
		switch s.Node {
		case "a-1":
			return evictor.Alive, nil
		case "a-2":
			panic("the BMC does not answer")
		case "a-3":
			return evictor.Unanswered, nil
		}
		return evictor.Silent, nil
	})
	e = startWith(t, c, evictor.DefaultConfig(), clients, evictor.Options{})
	c.Advance(9 * time.Second)
	c.Fail("a-3")
	c.Advance(10 * time.Second)
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(41 * time.Second)
	require.Equal(t, "a-3 50s of 1", asked[0])
	asked = nil
	c.Advance(6 * time.Second)
	asked = slices.DeleteFunc(asked, func(s string) bool { return strings.HasPrefix(s, "a-3") }) // again and again
	require.Equal(t, []string{"a-0 1m0s of 4", "a-1 1m0s of 3", "a-2 1m0s of 2"}, asked[:3])
	require.Equal(t, v1.ConditionUnknown, ready(t, e, "a-0"))
	for _, name := range []string{"a-1", "a-2", "a-3"} {
		require.Equal(t, v1.ConditionTrue, ready(t, e, name), name)
	}
	suspects := e.Suspects()
	require.Len(t, suspects, 2)
	require.Equal(t, "a-3", suspects[0].Verdict.Node)
	require.ErrorContains(t, suspects[1].Unanswered, "the BMC does not answer")
}

// While the evictor itself cannot see the cluster nobody is asked, and nothing follows from an answer.
func TestNoQuestionsWhileBlind(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	asked := 0
	clients := c.Clients()
	var e *evictor.Evictor
	clients.Confirmer = evictor.ConfirmFunc(func(context.Context, evictor.Suspect) (evictor.Answer, error) {
		if asked++; asked == 1 {
			e.SetObserverHealth(errors.New("blind"))
		}
		return evictor.Silent, nil
	})
	e = startWith(t, c, evictor.DefaultConfig(), clients, evictor.Options{})
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	require.Equal(t, 1, asked)
	require.Equal(t, v1.ConditionTrue, ready(t, e, "a-0"))
	e.SetObserverHealth(nil)
	c.Advance(45 * time.Second)
	require.Equal(t, v1.ConditionTrue, ready(t, e, "a-0"), "all clocks have restarted")
	c.Advance(10 * time.Second)
	require.Equal(t, v1.ConditionUnknown, ready(t, e, "a-0"))
	require.Equal(t, 2, asked)
	require.Equal(t, zone.Normal, e.Zones()[0].State)
}

func periods() map[string]evictor.Config {
	exact := evictor.DefaultConfig()
	exact.NodeMonitorPeriod = 0
	return map[string]evictor.Config{"on the grid": evictor.DefaultConfig(), "exact": exact}
}
