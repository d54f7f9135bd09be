package differential

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// Phenomenon is what a scenario is about, so that it surely happens there: random scenarios meet some of them once in a thousand.
type Phenomenon string

// Phenomena are all of them.
var Phenomena = []Phenomenon{Swaps, Foreigners, Starts, Outages, Rates, Watches, AllDown, Answers, Recreated}

// The phenomena.
const (
	Swaps      Phenomenon = "swaps"      // a silent node reports that it is not ready, or the other way round; pods tolerate the two differently
	Foreigners Phenomenon = "foreigners" // taints set by people, beside ours
	Starts     Phenomenon = "starts"     // the program restarts while nodes are down, and what was due meanwhile
	Outages    Phenomenon = "outages"    // the API is down when something is to be written
	Rates      Phenomenon = "rates"      // zones of the very sizes and shares at which their rates change, while nodes wait
	Watches    Phenomenon = "watches"    // renewals are lost, and kubelets do not reach the API
	AllDown    Phenomenon = "all down"   // every zone is down, and comes back
	Answers    Phenomenon = "answers"    // writes fail, or seem to, when something is to be written
	Recreated  Phenomenon = "recreated"  // a node, or a pod, comes back under its name while something is due
)

// swap: silent, then not ready, then silent again, in either order.
func (g *generator) swap(at time.Duration) {
	names := g.victims()
	silent := g.one(2)
	for range 2 + g.IntN(3) {
		switch {
		case silent:
			g.failing(at, names)
		default:
			g.back(at, names)
			g.says(at+200*time.Millisecond, names, v1.ConditionFalse)
		}
		silent = !silent
		at += g.some()
	}
	if g.one(2) {
		g.back(at, names)
		g.says(at+200*time.Millisecond, names, v1.ConditionTrue)
	}
	if g.one(4) {
		g.do(at-seconds(g.IntN(60)), simulation.Event{Restart: &simulation.Restart{}})
	}
}

// foreigner: taints of people come, change and go, before and while ours is there.
func (g *generator) foreigner(at time.Duration) {
	names := g.victims()
	if g.one(2) {
		g.failing(at, names)
	}
	for range 2 + g.IntN(3) {
		at += seconds(5 + g.IntN(60))
		key := pick(g, "maintenance", "gpu")
		if g.one(3) {
			g.do(at, simulation.Event{Untaint: &simulation.Untaint{Nodes: selected(names), Key: key, Effect: v1.TaintEffectNoExecute}})
		} else {
			g.do(at, simulation.Event{Taint: &simulation.Taint{Nodes: selected(names), NodeTaint: simulation.NodeTaint{Key: key, Value: pick(g, "", "now"), Effect: v1.TaintEffectNoExecute}}})
		}
	}
	if g.one(2) {
		g.back(at+g.some(), names)
	}
}

// start: the program restarts before the verdict, while nodes wait, while tolerations run or after them.
func (g *generator) start(at time.Duration) {
	names := g.victims()
	if g.one(3) {
		g.back(at-seconds(2), names)
		g.says(at, names, v1.ConditionFalse)
	} else {
		g.failing(at, names)
	}
	if g.one(4) {
		g.do(at+g.some(), simulation.Event{Taint: &simulation.Taint{Nodes: selected(names[:1]), NodeTaint: simulation.NodeTaint{Key: "gpu", Effect: v1.TaintEffectNoExecute}}})
	}
	for range 1 + g.IntN(2) {
		at += seconds(2 + g.IntN(150))
		g.do(at, simulation.Event{Restart: &simulation.Restart{}})
	}
	if g.one(3) {
		g.back(at+seconds(g.IntN(60)), names)
	}
}

// outage: the API is down around the verdict, a turn, the end of a toleration or a return.
func (g *generator) outage(at time.Duration) {
	names := g.victims()
	down := at + seconds(g.IntN(150))
	up := down + seconds(2+g.IntN(60))
	g.failing(at, names)
	g.do(down, simulation.Event{API: &simulation.API{State: simulation.APIDown, For: simulation.ForEvictor}})
	g.do(up, simulation.Event{API: &simulation.API{State: simulation.APIUp}})
	if g.one(2) {
		g.back(down+seconds(g.IntN(90)), names)
	}
	if g.one(3) {
		g.do(down-seconds(g.IntN(20)), simulation.Event{Taint: &simulation.Taint{Nodes: selected(names[:1]), NodeTaint: simulation.NodeTaint{Key: "gpu", Effect: v1.TaintEffectNoExecute}}})
	}
}

// answers: writes fail for a moment or for minutes around the verdict, a turn, the end of a toleration or a return.
func (g *generator) answers(at time.Duration) {
	names := g.victims()
	g.failing(at, names)
	if g.one(3) {
		g.do(at+seconds(g.IntN(60)), simulation.Event{Taint: &simulation.Taint{Nodes: selected(names[:1]), NodeTaint: simulation.NodeTaint{Key: "gpu", Effect: v1.TaintEffectNoExecute}}})
	}
	if g.one(2) {
		g.back(at+seconds(60+g.IntN(120)), names)
	}
	for range 1 + g.IntN(3) {
		at += seconds(g.IntN(60))
		answer := pick(g, simulation.AnswerForbidden, simulation.AnswerBusy, simulation.AnswerInternal, simulation.AnswerWritten, simulation.AnswerWritten)
		g.do(at, simulation.Event{API: &simulation.API{State: simulation.APIFailing, Answer: answer, For: simulation.ForEvictor}})
		at += seconds(pick(g, 1, 2, 5, 10, 60))
		g.do(at, simulation.Event{API: &simulation.API{State: simulation.APIUp}})
	}
}

// recreated: a silent machine is replaced under its name, or a pod on one that is not ready is made anew with other tolerations,
// before the verdict, while nodes wait, while tolerations run or after them.
func (g *generator) recreated(at time.Duration) {
	names := g.victims()
	if g.one(2) || g.against == V118Direct { // which empties a node at once that a pod comes to after the timeout
		g.failing(at, names)
		g.again(at+seconds(1+g.IntN(150)), names)
		return
	}
	g.serial++
	pod := fmt.Sprintf("x%d", g.serial)
	add := func(at time.Duration) {
		lasts := pick[simulation.TolerationSeconds](g, simulation.NoToleration, 0, 10, 30, 60, 120)
		g.add(at, simulation.Event{AddPod: &simulation.AddPod{Name: pod, Node: names[g.IntN(len(names))], TolerationSeconds: &lasts}})
	}
	add(g.moment(at))
	at += seconds(1 + g.IntN(30))
	g.says(at, names, v1.ConditionFalse)
	for range 1 + g.IntN(3) {
		deleted := g.moment(at + seconds(1+g.IntN(60)))
		g.add(deleted, simulation.Event{DeletePod: &simulation.Pod{Name: pod}})
		if at = deleted; g.one(2) { // else at once: nobody sees that it was gone
			at = g.moment(deleted + seconds(1+g.IntN(30)))
		}
		add(at)
	}
	if g.one(3) {
		g.says(at+g.some(), names, v1.ConditionTrue)
	}
}

// again: nodes that are deleted come back under their names, and some fail again.
func (g *generator) again(at time.Duration, names []string) {
	after := seconds(g.IntN(pick(g, 1, 1, 20, 100)))
	if g.one(2) {
		g.do(at, simulation.Event{ReplaceNode: &simulation.ReplaceNode{Nodes: selected(names), After: after}})
	} else {
		g.do(at, simulation.Event{DeleteNode: of(selected(names))})
		for _, name := range names {
			key := g.nodes[name].zone.key
			g.do(at+after+time.Second, simulation.Event{AddNode: &simulation.AddNode{Name: name, Zone: key.Zone, Region: key.Region}})
		}
	}
	if g.one(4) {
		g.do(at+seconds(g.IntN(60)), simulation.Event{Restart: &simulation.Restart{}})
	}
	at += after + seconds(2+g.IntN(60))
	switch g.IntN(6) {
	case 0:
		g.do(at, simulation.Event{ReplaceNode: &simulation.ReplaceNode{Nodes: selected(names)}})
	case 1:
		g.do(at, simulation.Event{LoseLeases: &simulation.LoseLeases{Nodes: selected(names)}})
		g.do(at+seconds(1+g.IntN(30)), simulation.Event{ShowLeases: of(selected(names))})
	case 2, 3, 4:
		g.failing(at, names)
	}
	if g.one(3) {
		g.back(at+g.some(), names)
	}
}

// rates: as many nodes fail as make the zone's share the threshold itself, and its size is that of a large zone or one more or
// less. Then others follow, or come back.
func (g *generator) rates(at time.Duration) {
	z := g.zones[0]
	c := &g.c.Scenario.Config
	c.LargeClusterSizeThreshold = max(0, len(z.nodes)+pick(g, -1, 0, 0, 1))
	c.SecondaryNodeEvictionRate = pick(g, 0.0, 0.05, 0.1, c.NodeEvictionRate)
	names := slices.Clone(z.nodes)
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	bad := min(len(names)-1, 2+g.IntN(len(names)))
	c.UnhealthyZoneThreshold = float64(bad) / float64(len(names))
	g.failing(at, names[:max(1, bad-g.IntN(2))])
	for range 1 + g.IntN(3) {
		at += seconds(5 + g.IntN(60))
		some := names[g.IntN(len(names)):]
		if g.one(2) {
			g.failing(at, some)
		} else {
			g.back(at, some)
		}
	}
}

// watched: renewals do not come through, or kubelets do not reach the API; some are silent besides.
func (g *generator) watched(at time.Duration) {
	names := g.victims()
	if g.one(2) {
		g.do(at, simulation.Event{LoseLeases: &simulation.LoseLeases{Nodes: selected(names), ShowAfter: seconds(pick(g, 0, 0, 1, 30, 90))}})
		if g.one(2) {
			g.do(at+g.some(), simulation.Event{ShowLeases: of(selected(names))})
		}
	} else {
		g.do(at, simulation.Event{API: &simulation.API{State: simulation.APIDown, For: simulation.ForKubelets}})
		g.do(at+seconds(10+g.IntN(80)), simulation.Event{API: &simulation.API{State: simulation.APIUp}})
	}
	if g.one(2) {
		g.failing(at+seconds(g.IntN(60)), names)
	}
	if g.one(3) {
		g.do(at+g.some(), simulation.Event{Restart: &simulation.Restart{}})
	}
}

// allDown: every node is silent, at once or zone after zone; then some are back.
func (g *generator) allDown(at time.Duration) {
	apart := seconds(pick(g, 0, 1, 30, 90))
	if g.one(2) {
		g.failing(at, g.victims())
		at += g.some()
	}
	for i, z := range g.zones {
		g.failing(at+time.Duration(i)*apart, z.nodes)
	}
	at += apart + seconds(40+g.IntN(120))
	if g.one(4) {
		g.do(at-seconds(10), simulation.Event{Restart: &simulation.Restart{}})
	}
	names := slices.Clone(g.names)
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	g.back(at, names[:1+g.IntN(len(names))])
	if g.one(2) {
		g.back(at+g.some(), names)
	}
}
