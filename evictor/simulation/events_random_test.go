package simulation

import (
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// randomEvents makes a scenario that uses every action and field. It need not make sense.
func randomEvents(seed int64) Scenario {
	r := rand.New(rand.NewSource(seed))
	s := Scenario{Until: 30 * time.Minute, ReplaceAfter: time.Duration(r.Intn(20)) * time.Second}
	s.AskBudgets = r.Intn(2) == 0
	s.Config = configured(func(c *evictor.Config) {
		c.Nodes.NodeEvictionRate = []float64{0.1, 1, 10}[r.Intn(3)]
		c.Nodes.TaintBasedEviction = r.Intn(5) > 0
		if r.Intn(5) == 0 {
			c.Nodes.NodeMonitorPeriod = 0
		}
	})
	for i, name := range []string{"a", "b"} {
		z := Zone{Name: name, Nodes: 2 + r.Intn(5), PodsPerNode: r.Intn(4), DaemonSetPodsPerNode: r.Intn(2), TolerationSeconds: ptr(TolerationSeconds(r.Intn(120)))}
		z.Labels = map[string]string{"pool": []string{"x", "y"}[r.Intn(2)]}
		z.Pod.Labels = map[string]string{"app": name}
		if r.Intn(2) == 0 {
			z.Capacity = map[string]Quantity{"cpu": "4"}
			z.Pod.Requests = map[string]Quantity{"cpu": "1"}
		}
		z.Pod.Owner = Owner([]string{"", "StatefulSet/db", "none"}[r.Intn(3)])
		if i == 1 && r.Intn(3) == 0 {
			z.Taints = []NodeTaint{{Key: "dedicated", Effect: "NoSchedule"}}
		}
		s.Zones = append(s.Zones, z)
	}
	if r.Intn(3) == 0 {
		s.Zones = append(s.Zones, Zone{Name: "c", Nodes: 4})
		s.Traces = []Trace{{Zone: "c", Gap: time.Minute, Alive: []int{4, 1, 3, 0, 2, 4, 1}, Scale: r.Intn(2)}}
	}
	for range 4 + r.Intn(14) {
		s.Events = append(s.Events, randomEvent(r, time.Duration(r.Intn(40))*30*time.Second)) // often several at one instant
	}
	if r.Intn(2) == 0 {
		again := &Repeat{Every: time.Duration(100+r.Intn(400)) * time.Second}
		for range 1 + r.Intn(4) {
			again.Events = append(again.Events, randomEvent(r, time.Duration(r.Intn(200))*time.Second))
		}
		s.Events = append(s.Events, Event{At: time.Duration(r.Intn(600)) * time.Second, Repeat: again})
	}
	s.NotReadyFor = []time.Duration{0, 15 * time.Second, 2 * time.Minute}[r.Intn(3)]
	return s
}

func randomChoice(r *rand.Rand) Nodes {
	node := func() string { return fmt.Sprintf("%c-%03d", 'a'+r.Intn(2), r.Intn(4)) }
	var s Nodes
	switch r.Intn(5) {
	case 0:
		return Nodes{Names: []string{node()}}
	case 1:
		return Nodes{Names: []string{node(), node()}}
	case 2:
		s.Zone = []string{"a", "b"}[r.Intn(2)]
	case 3:
		s.Labels = []string{"pool=x", "pool in (x,y)", "!none"}[r.Intn(3)]
	case 4:
		s.Zone, s.Labels = "a", "pool"
	}
	switch r.Intn(3) {
	case 0:
		s.Percent = float64(r.Intn(101))
	case 1:
		s.Count = r.Intn(3)
	default:
		return s
	}
	if r.Intn(2) == 0 {
		s.Seed = r.Int63n(100)
	}
	return s
}

func randomEvent(r *rand.Rand, when time.Duration) Event {
	e := Event{At: when}
	s := randomChoice(r)
	switch r.Intn(19) {
	case 0, 1:
		e.Fail = &s
	case 2, 3:
		e.Recover = &s
	case 4, 5:
		e.Partition = &Partition{Nodes: s, Clients: ptr(float64(r.Intn(5)) / 4)}
	case 6:
		e.Drain = &Drain{Nodes: s, Timeout: time.Duration(r.Intn(3)) * 90 * time.Second}
		if e.Drain.Timeout > 0 {
			e.Drain.Then = []string{"", thenGiveUp, thenForce}[r.Intn(3)]
		}
	case 7:
		e.Uncordon = &s
	case 8:
		e.OutOfService = &s
	case 9:
		e.Untaint = &Untaint{Nodes: s, Key: taintOutOfService, Effect: "NoExecute"}
	case 10:
		e.ReplaceNode = &ReplaceNode{Nodes: s, After: time.Duration(r.Intn(200)) * time.Second}
	case 11:
		e.API = &API{State: []string{"up", "down", "slow", "failing"}[r.Intn(4)], For: []string{"", "evictor", "kubelets"}[r.Intn(3)]}
		switch e.API.State {
		case "slow":
			e.API.Latency = time.Duration(1+r.Intn(15)) * time.Second
		case "failing":
			e.API.For, e.API.Answer = "evictor", []string{"forbidden", "busy", "internal", "written"}[r.Intn(4)]
		}
	case 12:
		e.ForceDelete = &Pod{Name: fmt.Sprintf("%c-%03d-p0", 'a'+r.Intn(2), r.Intn(3))}
	case 13:
		e.Restart = &Restart{}
	case 14:
		e.Condition = &Condition{Nodes: s, Type: "Ready", Status: "True"}
	case 15:
		e.DeleteNode = &s
	case 16:
		e.AddNode = &AddNode{Name: fmt.Sprintf("a-%03d", r.Intn(4)), Zone: "a"} // perhaps one that was deleted
	case 17:
		e.AddPod = &AddPod{Name: "x", Node: fmt.Sprintf("b-%03d", r.Intn(4))}
	case 18:
		e.DeletePod = &Pod{Name: []string{"x", "a-000-p0"}[r.Intn(2)]}
	}
	return e
}

var regexpOfPlace = regexp.MustCompile(`^event (\d+)[ ,]`)

// sensible removes the events that are faulty.
func sensible(t *testing.T, s Scenario) Scenario {
	for {
		err := checked(s)
		if err == nil {
			return s
		}
		m := regexpOfPlace.FindStringSubmatch(err.Error())
		require.NotNil(t, m, err)
		n, _ := strconv.Atoi(m[1])
		s.Events = append(s.Events[:n-1:n-1], s.Events[n:]...)
	}
}

// underBudgets makes a cluster with a budget for the pods of each zone.
func underBudgets(t *testing.T) *cluster {
	c := newCluster(clockOf(nil))
	for _, app := range []string{"a", "b"} {
		most := intstr.FromString("20%")
		require.NoError(t, c.AddBudget("default", app, budgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, MaxUnavailable: &most}))
	}
	return c
}

// recount counts everything that a cluster counts incrementally.
func recount(t *testing.T, c *cluster) {
	var lacking, terminating int
	serving, have := make([]int, len(c.levels.budgets)), make([]int, len(c.levels.workloads))
	for i := range c.pods {
		p := &c.pods[i]
		if p.node < 0 {
			continue
		}
		n := &c.nodes[p.node]
		at, gone := c.orphans[n.Name]
		require.Equal(t, n.Deleted, gone && at == p.node, "pods are on nodes, or bound to the name of one that is gone")
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
		if p.unstarted {
			require.True(t, n.failed || c.kubelets.down, "a kubelet starts what it learns of")
			lacks = whole
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
		}
	}
	held := c.jobController.Waiting()
	lacking += whole * (c.waiting.len() + held)
	require.Equal(t, lacking, c.stats.count, "pods without a live node")
	require.Equal(t, terminating, c.stats.TerminatingAtEnd)
	for i := range c.levels.budgets {
		require.Equal(t, serving[i], c.levels.budgets[i].have)
	}
	recountBudgets(t, c)
	for i := range c.levels.workloads {
		require.Equal(t, have[i], c.levels.workloads[i].have)
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		has := !n.Deleted && slices.ContainsFunc(n.Taints, func(t v1.Taint) bool { return t.Key == taintOutOfService })
		require.Equal(t, has, c.outOfService[int32(i)], n.Name)
		require.True(t, !n.Deleted || n.firstPod < 0 || n.failed)
		require.False(t, n.parted && !n.failed)
	}
}

// recountBudgets counts what the disruption controller counts.
func recountBudgets(t *testing.T, c *cluster) {
	healthy, without := make([]int, len(c.levels.budgets)), make([]int, len(c.levels.budgets))
	pods := make([]int, len(c.levels.workloads))
	for i := range c.pods {
		p := &c.pods[i]
		if p.node < 0 || p.member == 0 {
			continue
		}
		m := &c.levels.members[p.member-1]
		if m.workload >= 0 {
			pods[m.workload]++
		}
		for _, b := range m.budgets {
			if p.ready && !p.terminating {
				healthy[b]++
			}
			if c.levels.budgets[b].byScale && m.kind != "" && !hasScale(m.kind) {
				without[b]++
			}
		}
	}
	for i := range c.levels.budgets {
		b := &c.levels.budgets[i]
		require.Equal(t, healthy[i], b.healthy)
		require.Equal(t, without[i], b.withoutScale)
		scales := 0
		for _, w := range b.workloads {
			if hasScale(c.levels.workloads[w].kind) {
				scales += c.levels.workloads[w].desired
			}
		}
		require.True(t, !b.byScale || b.desired == scales)
	}
	for i := range pods {
		require.Equal(t, pods[i], c.levels.workloads[i].pods)
	}
}

// Whatever happens, scenarios without faults can be played, the incremental counts are right, an eviction through the API
// never violates a budget, and the same scenario gives the same timeline.
func TestRandomEvents(t *testing.T) {
	evictions, refused := 0, 0
	for seed := range int64(100) {
		s := sensible(t, randomEvents(seed))
		var before []string
		for range 2 {
			c := underBudgets(t)
			s.Progress = func(time.Duration) { recount(t, c) }
			lines, _ := playOn(t, c, s, observing(nil, func(d evictor.PodDecision) {
				switch d.Kind {
				case tainteviction.PodEvicted:
					evictions++
				case tainteviction.EvictionDelayed:
					refused++
					require.True(t, s.AskBudgets || d.Reason != "DisruptionBudget")
				}
			}))
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
