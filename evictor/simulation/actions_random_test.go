package simulation

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
)

// randomActions makes a scenario that uses every action and field. It need not make sense.
func randomActions(seed int64) *scenario.Scenario {
	r := rand.New(rand.NewSource(seed))
	s := &scenario.Scenario{Until: at(30 * time.Minute), Reschedule: &scenario.Reschedule{After: at(time.Duration(r.Intn(20)) * time.Second)}}
	s.Config.UseEvictionAPI = ptr(r.Intn(2) == 0)
	s.Config.NodeEvictionRate = ptr([]float64{0.1, 1, 10}[r.Intn(3)])
	for i, name := range []string{"a", "b"} {
		z := scenario.Zone{Name: name, Nodes: 2 + r.Intn(5), PodsPerNode: r.Intn(4), DaemonSetPodsPerNode: r.Intn(2), TolerationSeconds: ptr(scenario.TolerationSeconds(r.Intn(120)))}
		z.Labels = map[string]string{"pool": []string{"x", "y"}[r.Intn(2)]}
		z.Pod.Labels = map[string]string{"app": name}
		if r.Intn(2) == 0 {
			z.Capacity = map[string]scenario.Quantity{"cpu": "4"}
			z.Pod.Requests = map[string]scenario.Quantity{"cpu": "1"}
		}
		z.Pod.Owner = scenario.Owner([]string{"", "StatefulSet/db", "none"}[r.Intn(3)])
		if i == 1 && r.Intn(3) == 0 {
			z.Taints = []scenario.NodeTaint{{Key: "dedicated", Effect: "NoSchedule"}}
		}
		s.Cluster.Zones = append(s.Cluster.Zones, z)
	}
	for range 4 + r.Intn(14) {
		s.Events = append(s.Events, randomAction(r, time.Duration(r.Intn(1200))*time.Second))
	}
	if r.Intn(2) == 0 {
		again := &scenario.Repeat{Every: at(time.Duration(100+r.Intn(400)) * time.Second)}
		for range 1 + r.Intn(4) {
			again.Events = append(again.Events, randomAction(r, time.Duration(r.Intn(200))*time.Second))
		}
		s.Events = append(s.Events, scenario.Event{At: at(time.Duration(r.Intn(600)) * time.Second), Repeat: again})
	}
	return s
}

func randomChoice(r *rand.Rand) scenario.Selector {
	node := func() string { return fmt.Sprintf("%c-%03d", 'a'+r.Intn(2), r.Intn(4)) }
	var s scenario.Selector
	switch r.Intn(5) {
	case 0:
		return scenario.Selector{Node: node()}
	case 1:
		return scenario.Selector{Nodes: []string{node(), node()}}
	case 2:
		s.Zone = ptr([]string{"a", "b"}[r.Intn(2)])
	case 3:
		s.Labels = ptr(scenario.LabelSelector([]string{"pool=x", "pool in (x,y)", ""}[r.Intn(3)]))
	case 4:
		s.Zone, s.Labels = ptr("a"), ptr(scenario.LabelSelector("pool"))
	}
	switch r.Intn(3) {
	case 0:
		s.Percent = ptr(float64(r.Intn(101)))
	case 1:
		s.Count = ptr(r.Intn(3))
	default:
		return s
	}
	if r.Intn(2) == 0 {
		s.Seed = ptr(r.Int63n(100))
	}
	return s
}

func randomAction(r *rand.Rand, when time.Duration) scenario.Event {
	e := scenario.Event{At: at(when)}
	s := randomChoice(r)
	switch r.Intn(14) {
	case 0, 1:
		e.Fail = &s
	case 2, 3:
		e.Recover = &s
	case 4, 5:
		e.Partition = &scenario.Partition{Selector: s, Clients: ptr(float64(r.Intn(5)) / 4)}
	case 6:
		e.Drain = &s
	case 7:
		e.Uncordon = &s
	case 8:
		e.OutOfService = &s
	case 9:
		e.Untaint = &scenario.Untaint{Selector: s, Key: taintOutOfService, Effect: "NoExecute"}
	case 10:
		e.ReplaceNode = &scenario.ReplaceNode{Selector: s, After: at(time.Duration(r.Intn(200)) * time.Second)}
	case 11:
		e.API = &scenario.API{State: []string{"up", "down", "slow"}[r.Intn(3)], For: []string{"", "evictor", "kubelets"}[r.Intn(3)]}
		if e.API.State == "slow" {
			e.API.Latency = at(time.Duration(1+r.Intn(15)) * time.Second)
		}
	case 12:
		e.ForceDelete = &scenario.DeletePod{Name: fmt.Sprintf("%c-%03d-p0", 'a'+r.Intn(2), r.Intn(3))}
	case 13:
		e.Restart = &scenario.Restart{}
	}
	return e
}

// sensible removes the events that Check rejects.
func sensible(t *testing.T, s *scenario.Scenario) {
	for {
		err := s.Check(nil)
		if err == nil {
			return
		}
		m := regexpOfPlace.FindStringSubmatch(err.Error())
		require.NotNil(t, m, err)
		n, _ := strconv.Atoi(m[1])
		s.Events = append(s.Events[:n-1:n-1], s.Events[n:]...)
	}
}

// underBudgets makes a cluster with a budget for the pods of each zone.
func underBudgets(t *testing.T) *Cluster {
	c := New(&Clock{})
	for _, app := range []string{"a", "b"} {
		most := intstr.FromString("20%")
		require.NoError(t, c.AddBudget("default", app, BudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, MaxUnavailable: &most}))
	}
	return c
}

// recount counts everything that a cluster counts incrementally.
func recount(t *testing.T, c *Cluster) {
	var lacking, terminating int
	healthy, have := make([]int, len(c.levels.budgets)), make([]int, len(c.levels.workloads))
	serving := make([]int, len(c.levels.budgets))
	for i := range c.pods {
		p := &c.pods[i]
		if p.node < 0 {
			continue
		}
		n := &c.nodes[p.node]
		require.False(t, n.deleted)
		switch {
		case p.terminating:
			terminating++
			if p.owed {
				lacking += whole
			}
			require.True(t, n.failed || c.kubelets.down, "a live kubelet ends what is deleted")
			continue
		case p.phase.finished() || p.spec.OwnerKind == "DaemonSet":
			continue
		}
		lacks := 0
		if n.failed {
			lacks = whole - int(n.reach)
		}
		lacking += lacks
		if p.member == 0 {
			continue
		}
		m := c.levels.members[p.member-1]
		if 2*lacks < whole && m.workload >= 0 {
			have[m.workload]++
		}
		for _, b := range m.budgets {
			if 2*lacks < whole {
				serving[b]++
			}
			if p.ready {
				healthy[b]++
			}
		}
	}
	lacking += whole * c.waiting.len()
	require.Equal(t, lacking, c.stats.count, "pods without a live node")
	require.Equal(t, terminating, c.stats.terminating)
	for i := range c.levels.budgets {
		require.Equal(t, healthy[i], c.levels.budgets[i].healthy)
		require.Equal(t, serving[i], c.levels.budgets[i].have)
	}
	for i := range c.levels.workloads {
		require.Equal(t, have[i], c.levels.workloads[i].have)
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		has := !n.deleted && slices.ContainsFunc(n.taints, func(t v1.Taint) bool { return t.Key == taintOutOfService })
		require.Equal(t, has, c.outOfService[int32(i)], n.name)
		require.False(t, n.parted && !n.failed)
	}
}

// Whatever happens, the incremental counts are right, an eviction through the API never violates a budget, and the same
// scenario gives the same timeline.
func TestRandomActions(t *testing.T) {
	evictions, refused := 0, 0
	for seed := range int64(100) {
		s := randomActions(seed)
		sensible(t, s)
		var before []string
		for range 2 {
			c := underBudgets(t)
			var lines []string
			_, err := Play(context.Background(), s, c, Options{
				Line:     func(l scenario.Line) error { lines = append(lines, string(l.AppendJSON(nil))); return nil },
				Progress: func(time.Duration, time.Duration) { recount(t, c) },
				Decision: func(d evictor.Decision) {
					switch d.Kind {
					case evictor.PodEvicted:
						evictions++
					case evictor.EvictionDelayed:
						refused++
						require.True(t, *s.Config.UseEvictionAPI || d.Reason != "DisruptionBudget")
					}
				},
			})
			require.NoError(t, err, seed)
			recount(t, c)
			if before != nil {
				require.Equal(t, before, lines, seed)
			}
			before = lines
		}
	}
	require.Greater(t, evictions, 300)
	require.Greater(t, refused, 50)
}
