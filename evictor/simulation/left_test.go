package simulation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/evictor"
)

// A node falls silent after a minute. Its pod tolerates that for five, so it is due at about 6m45s.
func TestWhyAPodIsLeft(t *testing.T) {
	one := intstr.FromInt(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: web}},
	}
	direct := configured(func(c *evictor.Config) { c.Nodes.TaintBasedEviction = false })
	for _, test := range []struct {
		until  time.Duration
		config evictor.Config
		budget bool
		silent []string
		down   bool // the API, from the fifth minute on
		want   string
	}{
		{want: leftUnnoticed, until: 80 * time.Second, silent: []string{"n0"}},
		{want: leftPending, until: 5 * time.Minute, silent: []string{"n0"}},
		{want: leftTerminating, until: 8 * time.Minute, silent: []string{"n0"}},
		{want: leftBudget, until: time.Hour, silent: []string{"n0"}, budget: true},
		{want: leftDue, until: 10 * time.Minute, silent: []string{"n0"}, down: true},
		{want: leftStopped, until: time.Hour, silent: []string{"n0", "n1", "n2"}},
		{want: leftTurn, until: time.Hour, silent: []string{"n0"}, config: configured(func(c *evictor.Config) { c.Nodes.NodeEvictionRate = 0.00001 })},
		{want: leftUnnoticed, until: 80 * time.Second, silent: []string{"n0"}, config: direct},
		{want: leftTimeout, until: 4 * time.Minute, silent: []string{"n0"}, config: direct},
		{want: leftBudget, until: time.Hour, silent: []string{"n0"}, config: direct, budget: true},
	} {
		pod := filePod("web-0", "n0", "StatefulSet", "web", web)
		pod.Spec.Tolerations = admitted(nil, 300)
		s := Scenario{
			Config: test.config, Nodes: []*v1.Node{fileNode("n0"), fileNode("n1"), fileNode("n2")}, Pods: []*v1.Pod{pod},
			Events: []Event{{At: time.Minute, Fail: named(test.silent...)}}, Until: test.until, AskBudgets: test.budget,
		}
		if test.budget {
			s.Objects = []runtime.Object{budget}
		}
		if test.down {
			s.Events = append(s.Events, Event{At: 5 * time.Minute, API: &API{State: APIDown, For: ForEvictor}})
		}
		if test.want == leftTurn { // another node takes the first turn
			s.Events = append([]Event{{At: 30 * time.Second, Fail: named("n1")}}, s.Events...)
			s.Nodes = append(s.Nodes, fileNode("n4"))
		}
		_, r := play(t, s)
		require.Equal(t, map[string]int{test.want: 1}, r.Left, test)
	}
}

// A pod that should have left and has not counts among the delays, as does its toleration to come; one that is not late does not.
func TestWhoIsNotEvictedIsLate(t *testing.T) {
	for _, test := range []struct {
		until time.Duration
		rate  float64
		want  int           // so many have a delay
		delay time.Duration // the same for all
		left  int
	}{
		{4 * time.Minute, 0, 3, 8 * time.Minute, 3}, // three minutes until now, five to come
		{time.Hour, 1e-9, 3, 64 * time.Minute, 2},   // the first leaves
		{4 * time.Minute, 1, 0, 0, 3},
	} {
		config := evictor.DefaultConfig()
		config.Nodes.NodeEvictionRate = test.rate
		_, r := play(t, Scenario{
			Config: config, Zones: []Zone{{Name: "a", Nodes: 20, PodsPerNode: 1}}, Events: []Event{{At: time.Minute, Fail: &Nodes{Zone: "a", Count: 3}}},
			Until: test.until, ReplaceAfter: -1,
		})
		require.Equal(t, test.left, r.NotEvicted)
		require.Equal(t, test.want, r.Delayed)
		require.Equal(t, [3]time.Duration{test.delay, test.delay, test.delay}, [3]time.Duration{r.EvictionDelayMedian, r.EvictionDelayP99, r.EvictionDelayWorst})
		for _, f := range Figures(r) {
			if f.Name == "evictionDelayWorstSeconds" {
				require.Equal(t, test.want == 0, f.Never)
			}
		}
	}
}

// A kubelet that is back reports that it is not Ready at first. Pods that tolerate that for less time than the silence are not overdue:
// theirs has just begun.
func TestAShorterTolerationOfTheTaintThatReplacesIsNotOverdue(t *testing.T) {
	silent, notReady := int64(1800), int64(300)
	s := Scenario{
		Zones: []Zone{{Name: "a", Nodes: 3, PodsPerNode: 2, Pod: PodFields{Tolerations: []Toleration{
			{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &silent},
			{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &notReady},
		}}}},
		Events:      []Event{{At: 5 * time.Minute, Fail: &Nodes{Names: []string{"a-000"}}}, {At: 25 * time.Minute, Recover: &Nodes{Names: []string{"a-000"}}}},
		NotReadyFor: 15 * time.Second, Until: 30 * time.Minute,
	}
	r, err := Play(context.Background(), s)
	require.NoError(t, err)
	require.Zero(t, r.Evicted)
	require.Zero(t, r.LostEvictions)
}
