package scenariofile

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// The page says what each figure is that an expectation may name.
func TestThePageExplainsEachFigure(t *testing.T) {
	page, err := os.ReadFile("SCENARIO.md")
	require.NoError(t, err)
	for _, figure := range slices.Concat(simulation.Figures(new(simulation.Report)), simulation.Figures(new(simulation.ZoneReport)), simulation.Figures(new(simulation.WorkloadReport)), simulation.Figures(new(simulation.BudgetReport))) {
		require.True(t, strings.Contains(string(page), "`"+figure.Name+"`"), figure.Name)
	}
}

var (
	row  = regexp.MustCompile("(?m)^\\| (node|pod) (label|condition|taint|toleration)s? (`[^|]*) \\| (on|only)\\b")
	name = regexp.MustCompile("`([^`]+)`")
)

// named returns the names in the table of what objects have, such as those of the labels of nodes: of what generated and added
// ones have, and of what only others may have.
func named(t *testing.T, object, what string) (has, lacks []string) {
	page, err := os.ReadFile("SCENARIO.md")
	require.NoError(t, err)
	for _, found := range row.FindAllStringSubmatch(string(page), -1) {
		if found[1] != object || found[2] != what {
			continue
		}
		for _, quoted := range name.FindAllStringSubmatch(found[3], -1) {
			if found[4] == "on" {
				has = append(has, quoted[1])
			} else {
				lacks = append(lacks, quoted[1])
			}
		}
	}
	slices.Sort(has)
	return has, lacks
}

// simulated returns generated and added nodes and pods as controllers see them, by name.
func simulated(t *testing.T) (nodes map[string]*v1.Node, pods map[string]*v1.Pod) {
	s, err := Parse("f", []byte(`
cluster: {zones: [{name: a, region: r, nodes: 1, podsPerNode: 1, daemonSetPodsPerNode: 1}]}
events:
- {at: 0, addNode: {name: b, zone: b, region: r, podsPerNode: 1, daemonSetPodsPerNode: 1}}
- {at: 0, addPod: {name: c, node: b}}
until: 1s
`))
	require.NoError(t, err)
	nodes, pods = make(map[string]*v1.Node), make(map[string]*v1.Pod)
	played, _ := s.Simulation(context.Background(), nil)
	_, err = simulation.Play(context.Background(), played, func(w *simulation.World) (simulation.Controller, error) {
		return simulation.StepFunc(func(context.Context) (time.Time, error) {
			w.Clients().Nodes.Nodes(func(n *v1.Node) bool {
				nodes[n.Name] = n
				w.Clients().Pods.PodsOnNode(n.Name, func(p *v1.Pod) bool {
					pods[p.Name] = p.DeepCopy()
					return true
				})
				return true
			})
			return time.Time{}, nil
		}), nil
	})
	require.NoError(t, err)
	require.Len(t, nodes, 2)
	require.Len(t, pods, 5)
	return nodes, pods
}

// The table names every label and condition of simulated nodes, and none that they lack.
func TestThePageNamesTheLabelsOfNodes(t *testing.T) {
	nodes, _ := simulated(t)
	for _, n := range nodes {
		has, lacks := named(t, "node", "label")
		require.Equal(t, slices.Sorted(maps.Keys(n.Labels)), has, n.Name)
		require.NotEmpty(t, lacks)
		require.Equal(t, []string{n.Name, "linux", "amd64"}, []string{n.Labels[v1.LabelHostname], n.Labels[v1.LabelOSStable], n.Labels[v1.LabelArchStable]})

		var conditions []string
		for _, c := range n.Status.Conditions {
			conditions = append(conditions, string(c.Type))
		}
		slices.Sort(conditions)
		has, lacks = named(t, "node", "condition")
		require.Equal(t, conditions, has, n.Name)
		require.NotEmpty(t, lacks)
		if n.Name == "a-000" {
			require.Empty(t, n.Spec.Taints, "it has been there for long")
			continue
		}
		has, _ = named(t, "node", "taint")
		require.Len(t, n.Spec.Taints, 1)
		require.Equal(t, has, []string{n.Spec.Taints[0].ToString()})
	}
}

// So it does for the tolerations of pods, which have no labels of their own.
func TestThePageNamesTheTolerationsOfPods(t *testing.T) {
	_, pods := simulated(t)
	labels, lacks := named(t, "pod", "label")
	require.Empty(t, labels)
	require.NotEmpty(t, lacks)
	has, _ := named(t, "pod", "toleration")
	for _, p := range pods {
		require.Empty(t, p.Labels, p.Name)
		if strings.Contains(p.Name, "-ds") {
			require.Equal(t, []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}}, p.Spec.Tolerations, p.Name)
			continue
		}
		var keys []string
		for _, of := range p.Spec.Tolerations {
			require.EqualValues(t, 300, *of.TolerationSeconds, p.Name)
			keys = append(keys, of.Key)
		}
		slices.Sort(keys)
		require.Equal(t, keys, has, p.Name)
	}
}
