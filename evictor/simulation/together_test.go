package simulation_test

import (
	"context"
	"fmt"
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

// Pods with the same value of a label leave together. If a disruption budget refuses one, all stay.
func TestScenariosPlayGroups(t *testing.T) {
	for name, row := range map[string]struct {
		change func(s *simulation.Scenario)
		want   []string
	}{
		"one by one": {func(*simulation.Scenario) {}, []string{"train0", "other0"}},
		"together":   {func(s *simulation.Scenario) { s.Together = []string{"none", "set"} }, []string{"train1", "train2", "train0", "other0"}},
		"budgets do not ask": {func(s *simulation.Scenario) {
			s.Together, s.Objects = []string{"set"}, []runtime.Object{budgetOf("train", 3)}
		}, []string{"train1", "train2", "train0", "other0"}},
		"a budget refuses": {func(s *simulation.Scenario) {
			s.Together, s.Objects, s.AskBudgets = []string{"set"}, []runtime.Object{budgetOf("train", 3)}, true
		}, []string{"other0"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := trains()
			row.change(&s)
			var left []string
			s.Timeline = func(line timeline.Line) error {
				if line.Kind == timeline.KindEvict {
					left = append(left, line.Pod)
				}
				return nil
			}
			report, err := simulation.Play(context.Background(), s)
			require.NoError(t, err)
			require.ElementsMatch(t, row.want, left)
			require.Equal(t, len(row.want), report.Evicted)
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
