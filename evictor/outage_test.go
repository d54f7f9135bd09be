package evictor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// until lets time pass up to that long after the start.
func until(c *evictortest.Cluster, d time.Duration) {
	c.Advance(d - c.Clock().Since(evictortest.Epoch))
}

// Whatever waited for the API server is done within one pass after its return, however long it was away: a verdict, a
// lift, evictions, marks.
func TestAllIsDoneWithinAPassOfTheReturnOfTheAPI(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		for _, outage := range []time.Duration{time.Second, 20 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour} {
			cfg := config()
			cfg.NodeMonitorPeriod = period
			c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.Zone("b", 12), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 60)))
			c.Start(cfg)
			until(c, 31*time.Second)
			c.Fail("a-0", "a-1", "a-2", "b-0")
			until(c, 100*time.Second)
			require.True(t, c.HasNoExecute("a-2") && c.HasNoExecute("b-0"))
			c.SetAPIDown(true)
			c.Recover("b-0") // its taints are to be lifted
			c.Fail("b-1")    // a grace period later it is Unknown and its pod is marked
			until(c, 100*time.Second+outage)
			c.SetAPIDown(false)
			before := len(c.Timeline())
			c.Advance(6 * time.Second)
			if outage > time.Minute {
				require.Len(t, c.EvictedFrom("a-2"), 1, outage)
				require.NotEmpty(t, says(c, `"condition"`, "b-1", "Unknown"), outage)
				require.NotEmpty(t, says(c, "podNotReady", "b-1"), outage)
				require.Greater(t, len(c.Timeline()), before)
			}
			require.False(t, c.HasNoExecute("b-0"), outage)
		}
	}
}

// Three nodes of one zone fail at 61 s, and writes fail from 130 s to 250 s: evictions that fell due meanwhile happen
// by 256 s.
func TestEvictionsLeaveWhenTheAPIIsBack(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.Zone("b", 12), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 60)))
	c.Start(config())
	until(c, 61*time.Second)
	c.Fail("a-0", "a-1", "a-2")
	until(c, 130*time.Second)
	c.SetAPIDown(true)
	until(c, 250*time.Second)
	require.Empty(t, c.Evicted())
	c.SetAPIDown(false)
	until(c, 256*time.Second)
	require.ElementsMatch(t, []string{"a-0-p0", "a-1-p0", "a-2-p0"}, c.Evicted())
}

// Two of eight nodes fail at 63 s, and writes fail from 100 s to 200 s: both are Unknown by 206 s.
func TestVerdictsAreWrittenWhenTheAPIIsBack(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4), evictortest.PodsPerNode(1))
	c.Start(config())
	until(c, 63*time.Second)
	c.Fail("a-0", "b-1")
	until(c, 100*time.Second)
	c.SetAPIDown(true)
	until(c, 200*time.Second)
	c.SetAPIDown(false)
	until(c, 206*time.Second)
	require.Len(t, says(c, `"condition"`, `"Ready"`, "Unknown"), 2)
}

// A conflict is an answer: the node is soon read and written again, however long there was no answer before, and
// however many conflicts there are.
func TestConflictsAfterAnOutageAreNoOutage(t *testing.T) {
	for _, conflicts := range []int{0, 1, 2, 4} {
		for _, write := range []string{"taints", "conditions"} {
			c := evictortest.New(t, evictortest.Zone("a", 4))
			met := 0
			c.FailWrites(func(w, object string) error {
				if w == write && object == "a-0" && met > 0 {
					met--
					return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
				}
				return nil
			})
			c.Start(config())
			c.Advance(20 * time.Second)
			c.Fail("a-0")
			if write == "taints" {
				c.Advance(2 * time.Minute)
				c.SetAPIDown(true)
				c.Recover("a-0")
			} else {
				c.SetAPIDown(true)
			}
			c.Advance(10 * time.Minute)
			met = conflicts
			c.SetAPIDown(false)
			c.Advance(8 * time.Second)
			require.Zero(t, met)
			require.Equal(t, write == "conditions", len(c.Taints("a-0")) > 0, "%d conflicts of %s", conflicts, write)
		}
	}
}

// A write that fails for its own reason keeps its backoff whatever answers other writes get, and makes no other write
// come earlier.
func TestWhatFailsAloneKeepsItsBackoff(t *testing.T) {
	for name, answer := range map[string]error{
		"forbidden":         apierrors.NewForbidden(v1.Resource("nodes"), "a-0", errors.New("no")),
		"a failing webhook": apierrors.NewInternalError(errors.New(`failed calling webhook "w": EOF`)),
		"without an answer": errors.New("connection reset"),
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 30), evictortest.Heartbeats(10*time.Second, 10*time.Second))
			c.Start(config())
			tries := 0
			c.FailWrites(func(write, object string) error {
				if object == "a-0" {
					tries++
					return answer
				}
				return nil
			})
			c.Cordon("a-0", true)
			for i := range 100 { // something is written every ten seconds
				node := fmt.Sprintf("a-%d", 1+i%20)
				c.Cordon(node, i/20%2 == 0)
				c.Advance(10 * time.Second)
			}
			require.Less(t, tries, 40)
		})
	}
}

// While there is no answer, one write is tried each pass, with jitter, in addition to the backoff of each failed write.
func TestOneWriteAPassFindsOut(t *testing.T) {
	for _, jitter := range []func(time.Duration) time.Duration{nil, func(d time.Duration) time.Duration { return d * 3 / 2 }} {
		c := evictortest.New(t, evictortest.Zone("a", 4))
		var tries []time.Duration
		c.Start(config(), evictor.Options{Jitter: jitter})
		c.FailWrites(func(string, string) error {
			tries = append(tries, c.Clock().Since(evictortest.Epoch))
			return apierrors.NewServiceUnavailable("down")
		})
		c.Fail("a-0")
		c.Advance(time.Hour)
		longest := time.Duration(0)
		for i := range tries[1:] {
			longest = max(longest, tries[i+1]-tries[i])
		}
		want := 5 * time.Second
		if jitter != nil {
			want = jitter(want)
		}
		require.Equal(t, want, longest)
		require.Less(t, len(tries), 900)
	}
}
