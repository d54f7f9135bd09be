package placement

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

const (
	clusters  = 250
	decisions = 40 // in each cluster
)

// count is what was compared.
type count struct {
	decisions, none int // none counts those that found no node
	feasible        int // nodes, on both sides
	refused         map[string]int
	byRow           map[string]int
}

// together stands for several rows at once.
const together = ""

func (c *count) explained() (sum int) {
	for _, n := range c.byRow {
		sum += n
	}
	return sum
}

func TestPlacementIsThatOfTheScheduler(t *testing.T) {
	total := count{refused: map[string]int{}, byRow: map[string]int{}}
	for seed := range uint64(clusters) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		w := g.world()
		for i := range decisions {
			g.change(w)
			p := g.pod(fmt.Sprint("new-", i))
			total.decide(t, seed, w, p, func(best string) {
				if g.one(50) {
					w.bind(p, best)
				}
			})
		}
	}
	t.Logf("%d decisions; %d pods found no node; of the nodes that were judged %d are feasible by both", total.decisions, total.none, total.feasible)
	for _, plugin := range filters {
		t.Logf("infeasible by both: %6d, in the scheduler by %s", total.refused[plugin], plugin)
	}
	t.Logf("decisions in which all nodes agree: %d; in which some differ: %d by more than one of these rows", total.decisions-total.explained(), total.byRow[together])
	for _, r := range rows {
		t.Logf("... and %4d by: %s: %s", total.byRow[r.name], r.name, r.why)
		require.Positive(t, total.byRow[r.name], "no decision differs by the row %q", r.name)
	}
	require.Equal(t, clusters*decisions, total.decisions)
	require.Greater(t, total.feasible, 10_000)
	for _, plugin := range filters {
		if plugin != "NodeName" { // no pod names its node
			require.Greater(t, total.refused[plugin], 500, plugin)
		}
	}
}

// world is a random cluster before anything changes.
func (g generator) world() *world {
	w := newWorld()
	g.volumes(w)
	for i := range 6 + g.IntN(25) {
		w.addNode(g.node(i))
	}
	for i := range w.nodes {
		if g.one(8) {
			w.fail(i)
		}
	}
	for i := range g.IntN(60) {
		p := g.pod(fmt.Sprint("old-", i))
		p.Status.Phase = pick(g, v1.PodRunning, v1.PodRunning, v1.PodPending, v1.PodSucceeded)
		w.bind(p, pick(g, w.nodes...).Name)
	}
	return w
}

// change changes the cluster a little.
func (g generator) change(w *world) {
	node, taint := g.IntN(len(w.nodes)), g.taint()
	if len(w.pods) > 0 {
		switch pod := g.IntN(len(w.pods)); g.IntN(5) {
		case 0, 1:
			w.deletePod(pod)
		case 2:
			w.setPhase(pod, pick(g, v1.PodRunning, v1.PodSucceeded, v1.PodFailed))
		}
	}
	switch g.IntN(12) {
	case 0, 1:
		w.cordon(node, g.one(40))
	case 2:
		w.taint(node, taint)
	case 3, 4:
		w.untaint(node, taint.Key, taint.Effect)
	case 5:
		w.move(node, pick(g, zones...))
	case 6:
		w.addNode(g.node(g.IntN(32)))
	case 7:
		if len(w.nodes) > 5 {
			w.deleteNode(node)
		}
	}
}

// decide compares one decision, and calls placed with the simulator's choice, if there is one.
func (c *count) decide(t *testing.T, seed uint64, w *world, p *v1.Pod, placed func(best string)) {
	ours, best := w.simulated.Feasible(p.DeepCopy())
	refused := theirs(t, w, p)
	c.decisions++
	differ := differences(ours, refused)
	if len(differ) > 0 {
		if name, ok := explained(t, w, p, ours); ok {
			c.byRow[name]++
		} else {
			object, _ := json.MarshalIndent(p, "", "  ")
			require.Failf(t, "the scheduler says otherwise", "seed %d, decision %d: %s\n%s", seed, c.decisions, strings.Join(differ, "\n"), object)
		}
	}
	for name, plugin := range refused {
		switch {
		case slices.Contains(ours, name) && plugin == "":
			c.feasible++
		case !slices.Contains(ours, name) && plugin != "":
			c.refused[plugin]++
		}
	}
	if len(ours) == 0 {
		c.none++
		require.Empty(t, best)
		return
	}
	require.Contains(t, ours, best)
	placed(best)
}

// differences returns the nodes about which the two sides disagree.
func differences(ours []string, refused map[string]string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		if feasible := slices.Contains(ours, name); feasible != (refused[name] == "") {
			all = append(all, fmt.Sprintf("node %s: ours feasible: %t, theirs refused by %q", name, feasible, refused[name]))
		}
	}
	return all
}

// explained returns the row that makes the scheduler agree with the simulator. If no single row does, all of them
// together may.
func explained(t *testing.T, w *world, p *v1.Pod, ours []string) (name string, ok bool) {
	agrees := func(rows []row) bool {
		amended, pod := w.copied(), p.DeepCopy()
		for _, r := range rows {
			r.amend(amended, pod)
		}
		return len(differences(ours, theirs(t, amended, pod))) == 0
	}
	for i := range rows {
		if agrees(rows[i : i+1]) {
			return rows[i].name, true
		}
	}
	return together, agrees(rows)
}
