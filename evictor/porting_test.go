package evictor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// What maintainers ask before they delete their own code, end to end; see MIGRATING.md. The tests of single
// parts are in their packages, and upstream's tables are in upstream_test.go.

// Karpenter: work for a pod that is gone never evicts another pod of its name, whether that came before the deadline or
// between the last check and the write. The new pod has its own time.
func TestRecreatedPodIsNotEvictedByItsPredecessorsWork(t *testing.T) {
	taint := v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute}
	for name, row := range map[string]struct {
		at    time.Duration // when it is recreated; its predecessor is due at 60
		young string
	}{
		"at once":          {0, "60.000"},
		"before it is due": {59 * time.Second, "119.000"},
		"as it is evicted": {60 * time.Second, "120.000"},
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 2))
			c.AddPod("p", "a-0", evictortest.TolerateFor("k", 60))
			start(c, config())
			c.Taint("a-0", taint)
			recreate := func() {
				c.DeletePod("p")
				c.AddPod("p", "a-0", evictortest.TolerateFor("k", 60))
			}
			if row.at == 60*time.Second {
				tries := 0
				c.FailWrites(func(write, object string) error {
					if tries++; write == "evict" && tries == 1 {
						recreate()
					}
					return nil
				})
				c.Advance(row.at)
			} else {
				c.Advance(row.at)
				recreate()
			}
			c.Advance(10 * time.Minute)
			require.Equal(t, []string{row.young}, times(says(c, `"evict"`)))
		})
	}
}

// Karpenter: with several reasons to leave, the earliest deadline counts, whatever their order.
func TestEarlierDeadlineWins(t *testing.T) {
	for _, order := range [][]string{{"short", "long"}, {"long", "short"}} {
		c := evictortest.New(t, evictortest.Zone("a", 2))
		c.AddPod("p", "a-0", evictortest.TolerateFor("short", 50), evictortest.TolerateFor("long", 300))
		start(c, config())
		for _, key := range order {
			c.Taint("a-0", v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute})
			c.Advance(10 * time.Second)
		}
		c.Advance(10 * time.Minute)
		want := map[string]string{"short": "50.000", "long": "60.000"}[order[0]]
		require.Equal(t, []string{want}, times(says(c, `"evict"`)))
	}
}

// kube-controller-manager, kubernetes#108268: five minutes stay five minutes, however often it restarts. Only evictions
// that are due before the new process has watched the node for one grace period wait for that.
func TestRestartKeepsFiveMinutesAtFive(t *testing.T) {
	for name, row := range map[string]struct {
		restarts []int // in seconds
		want     string
	}{
		"never":                 {nil, "345.000"},
		"right after the taint": {[]int{46}, "345.000"},
		"half way":              {[]int{200}, "345.000"},
		"every minute":          {[]int{60, 120, 180, 240, 300}, "345.000"},
		"a grace before":        {[]int{300}, "345.000"},
		"right before":          {[]int{344}, "389.000"}, // its own first pass after the grace period
		"after it was due":      {[]int{400}, "345.000"},
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
			start(c, config())
			c.Fail("a-0") // Unknown and tainted at 45
			for _, at := range row.restarts {
				c.Advance(time.Duration(at)*time.Second - c.Clock().Since(evictortest.Epoch))
				c.Restart()
			}
			c.Advance(20 * time.Minute)
			require.Equal(t, []string{row.want}, times(says(c, `"evict"`)))
			require.Equal(t, []string{"45.000"}, times(says(c, "NoExecute", "add")))
		})
	}
}

// OpenYurt's pull request 2500: a zone label that changes in the middle of a pass moves the node to its other zone's
// queue. There is no panic, and the node is neither lost nor duplicated.
func TestZoneThatFlipsInTheMiddleOfAPass(t *testing.T) {
	for name, zones := range map[string][]string{
		"between two":          {"a", "b"},
		"to one without nodes": {"a", "nowhere", "b"},
		"to none":              {"", "b", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
			clients := c.Clients()
			store := &flipping{NodeStore: clients.Nodes, node: "a-1", zones: zones}
			clients.Nodes = store
			s := stepped(t, c, config(), clients)
			c.Fail("a-0", "a-1", "a-2")
			for range 43 {
				s.run(time.Second)
				s.e.NodeChanged("a-1")
			}
			s.e.Pause("so that it waits") // with the zones of the verdicts, one of which may have only this node
			for range 60 {
				s.run(time.Second)
				s.e.NodeChanged("a-1")
			}
			require.Greater(t, store.looks, 100)
			requireCountedOnce(t, s.e, 16)
			store.zones = nil
			c.Relabel("a-1", zone.Key{Zone: "b"})
			s.run(6 * time.Second)
			require.Equal(t, []string{"a-0 in :a", "a-2 in :a", "a-1 in :b"}, waiting(s.e))
			s.e.Resume("so that it waits")
			s.run(time.Minute)
			for _, node := range []string{"a-0", "a-1", "a-2"} {
				require.True(t, c.HasNoExecute(node), node)
			}
			require.Len(t, says(c, "NoExecute", "add"), 3)
		})
	}
}

func waiting(e *tested) (nodes []string) {
	for _, w := range e.Nodes().Waiting() {
		nodes = append(nodes, fmt.Sprintf("%s in %s", w.Verdict.Node, w.Zone))
	}
	return nodes
}

func requireCountedOnce(t *testing.T, e *tested, nodes int) {
	t.Helper()
	sum := zone.Counts{}
	for _, z := range e.Nodes().Zones() {
		sum.Total += z.Counts.Total
		sum.Bad += z.Counts.Bad
	}
	require.Equal(t, zone.Counts{Total: nodes, Bad: 3}, sum)
}

// Karmada: whatever the number of workers, a zone's nodes are tainted at one rate, with a burst of one. Failed writes
// cost their turn. The same under Run is in run_test.go.
func TestSixWorkersStayWithinTheRateOfTheZone(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		c := evictortest.New(t, evictortest.Zone("a", 60), evictortest.Zone("b", 3), evictortest.PodsPerNode(3))
		start(c, sixWorkers(taintBased))
		failures := 0
		c.FailWrites(func(write, object string) error {
			if write == map[bool]string{true: "taints", false: "evict"}[taintBased] && c.Clock().Since(evictortest.Epoch) > 45*time.Second && object != "a-0" {
				if failures++; failures%5 == 0 {
					return apierrors.NewInternalError(fmt.Errorf("disk full"))
				}
			}
			return nil
		})
		for i := range 30 {
			c.Fail(fmt.Sprintf("a-%d", i))
		}
		c.Advance(15 * time.Minute)
		began := map[string]time.Duration{} // of each node
		lines := says(c, `"evict"`)
		if taintBased {
			lines = says(c, "NoExecute", "add")
		}
		for _, line := range lines {
			var seconds float64
			_, err := fmt.Sscanf(line, `{"t":%f`, &seconds)
			require.NoError(t, err)
			node := line[strings.Index(line, `"a-`):][:6]
			if _, known := began[node]; !known {
				began[node] = time.Duration(seconds * float64(time.Second))
			}
		}
		require.Len(t, began, 30)
		requireWithin(t, began, 0.5)
	}
}

// sixWorkers configures six workers that taint or empty nodes at 0.5 a second in each zone.
func sixWorkers(taintBased bool) evictor.Config {
	cfg := config()
	cfg.Nodes.NodeEvictionRate, cfg.Nodes.NodeWorkers, cfg.PodWorkers = 0.5, 6, 6
	cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = taintBased, time.Minute
	return cfg
}

// requireWithin requires that no span of time has more than the rate allows, with a burst of one.
func requireWithin(t *testing.T, began map[string]time.Duration, rate float64) {
	t.Helper()
	for first, from := range began {
		for last, to := range began {
			within := 0.0
			for _, at := range began {
				if at >= from && at <= to {
					within++
				}
			}
			if to >= from {
				require.LessOrEqual(t, within, rate*(to-from).Seconds()+1, "from %s at %s to %s at %s", first, from, last, to)
			}
		}
	}
}

// Karpenter: an eviction that a disruption budget refuses is retried after the delay in the API's answer, neither
// earlier nor with a growing backoff. Every other pod leaves when it is due.
func TestBlockedEvictionBacksOffAndStarvesNobody(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.Nodes.TaintBasedEviction = taintBased
		cfg.PodWorkers = 1
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(4))
		start(c, cfg)
		var tries []time.Duration
		c.FailWrites(func(write, object string) error {
			if write == "evict" && object == "default/a-0-p0" {
				tries = append(tries, c.Clock().Since(evictortest.Epoch))
				if len(tries) <= 30 {
					return apierrors.NewTooManyRequests("budget", 20)
				}
			}
			return nil
		})
		c.Fail("a-0", "a-1")
		c.Advance(20 * time.Minute)
		due := map[bool][2]string{true: {"345.000", "355.000"}, false: {"305.000", "315.000"}}[taintBased] // as if nothing were blocked
		require.Equal(t, []string{due[0], due[0], due[0], due[1], due[1], due[1], due[1]}, times(says(c, `"evict"`))[:7])
		require.Equal(t, "a-0-p0", c.Evicted()[7])
		require.Len(t, tries, 31)
		for i := 1; i < len(tries); i++ {
			require.Equal(t, 20*time.Second, tries[i]-tries[i-1])
		}
	}
}

// flipping is a store that shows a node in another zone at every look.
type flipping struct {
	cluster.NodeStore
	node  string
	zones []string
	looks int
}

func (s *flipping) Node(name string) (*v1.Node, bool) {
	n, ok := s.NodeStore.Node(name)
	if ok && name == s.node && len(s.zones) > 0 {
		labels := map[string]string{}
		for key, value := range n.Labels {
			labels[key] = value
		}
		if labels[v1.LabelTopologyZone] = s.zones[s.looks%len(s.zones)]; labels[v1.LabelTopologyZone] == "" {
			delete(labels, v1.LabelTopologyZone)
		}
		n.Labels = labels
		s.looks++
	}
	return n, ok
}
