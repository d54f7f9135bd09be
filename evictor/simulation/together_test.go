package simulation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// trains are two sets of three pods, each pod on a node of its own, and a node fails that has one of each.
func trains() simulation.Scenario {
	s := simulation.Scenario{Until: 30 * time.Minute, ReplaceAfter: -1, Events: []simulation.Event{{At: 5 * time.Minute, Fail: &simulation.Nodes{Names: []string{"n0"}}}}}
	for i := range 3 {
		s.Nodes = append(s.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}})
		for _, set := range []string{"train", "other"} {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(set, i), Labels: map[string]string{"app": set}}, Spec: v1.PodSpec{NodeName: fmt.Sprint("n", i)}}
			if set == "train" {
				pod.Labels["set"] = set
			}
			s.Pods = append(s.Pods, pod)
		}
	}
	return s
}

// Pods with the same value of a label leave together, and each line says why. If one of them may not leave, all stay, and the report
// says so of the one that is due.
func TestScenariosPlayGroups(t *testing.T) {
	for name, row := range map[string]struct {
		change func(s *simulation.Scenario)
		want   []string
		stays  string // of the pod that is due; empty if it leaves
	}{
		"one by one": {func(*simulation.Scenario) {}, []string{"train0", "other0"}, ""},
		"together":   {func(s *simulation.Scenario) { s.Together = []string{"none", "set"} }, []string{"train1", "train2", "train0", "other0"}, ""},
		"budgets do not ask": {func(s *simulation.Scenario) {
			s.Together, s.Objects = []string{"set"}, []runtime.Object{budgetOf("train", 3)}
		}, []string{"train1", "train2", "train0", "other0"}, ""},
		"a budget refuses": {func(s *simulation.Scenario) {
			s.Together, s.Objects, s.AskBudgets = []string{"set"}, []runtime.Object{budgetOf("train", 3)}, true
		}, []string{"other0"}, "due, but their disruption budget refuses their eviction"},
		"the budget of another one refuses": {func(s *simulation.Scenario) {
			s.Together, s.Objects, s.AskBudgets = []string{"set"}, []runtime.Object{budgetOf("train", 1)}, true
			s.Pods[2].Labels["app"], s.Pods[4].Labels["app"] = "train", "free"
			s.Pods[0].Labels["app"] = "free"
		}, []string{"other0"}, "due, but another pod of their group may not leave"},
	} {
		t.Run(name, func(t *testing.T) {
			s := trains()
			row.change(&s)
			var left []string
			s.Timeline = func(line timeline.Line) error {
				if line.Kind == timeline.KindEvict {
					left = append(left, line.Pod)
					require.Equal(t, line.Node != "n0", strings.Contains(line.More, `"goes with pod train0"`), line.Pod)
				}
				return nil
			}
			report, err := simulation.Play(context.Background(), s)
			require.NoError(t, err)
			require.ElementsMatch(t, row.want, left)
			require.Equal(t, len(row.want), report.Evicted)
			stays := make(map[string]int)
			if row.stays != "" {
				stays[row.stays] = 1
			}
			delete(report.Left, "deleted, waiting for their kubelet")
			require.Equal(t, stays, report.Left)
		})
	}
}

func TestALabelThatIsNone(t *testing.T) {
	s := trains()
	s.Together = []string{"a b"}
	_, err := simulation.Play(context.Background(), s)
	require.ErrorContains(t, err, `together: 1: "a b" is no label`)
}

// A label that no pod has had is a warning. A pod that an event adds may be the only one.
func TestALabelThatNoPodHas(t *testing.T) {
	s := trains()
	s.Together = []string{"none", "set", "late"}
	s.Events = append(s.Events, simulation.Event{At: time.Minute, AddPod: &simulation.AddPod{Name: "p", Node: "n1", PodFields: simulation.PodFields{Labels: map[string]string{"late": "x"}}}})
	report, err := simulation.Play(context.Background(), s)
	require.NoError(t, err)
	require.Equal(t, []string{"together 1: no pod has the label none"}, report.Warnings)
}
