package differential

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
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

// Mixed makes a case of any kind: every other one is about a phenomenon.
func Mixed(seed uint64, against Against) *Case {
	if seed%2 == 0 {
		return Generate(seed, against)
	}
	return About(Phenomena[seed/2%uint64(len(Phenomena))], seed, against)
}

// About makes a case that is about a phenomenon.
func About(p Phenomenon, seed uint64, against Against) *Case {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(slices.Index(Phenomena, p))+1)), against: against, c: &Case{Scenario: *scenariofile.New()}, nodes: map[string]*genNode{}}
	g.config()
	c := &g.c.Scenario.Config
	c.NodeEvictionRate = pick(g, 0.1, 0.2, 0.5, 1, 2)
	c.NodeMonitorPeriod = seconds(pick(g, 1, 2, 5))
	g.c.Scenario.Heartbeat.StatusInterval = seconds(pick(g, 10, 20, 60, 300))
	g.until = seconds(420 + g.IntN(300))
	most := map[Phenomenon]int{Rates: 12}[p]
	g.small(max(most, 5))
	if g.one(2) {
		g.beside(seconds(g.IntN(240)))
	}
	n := 1 + g.IntN(3)
	if p == Swaps || p == Starts || p == Recreated {
		n = 1 // they last, and what a restart of upstream loses depends on the order of its queue
	}
	for i := range n {
		at := seconds(10+g.IntN(40)) + time.Duration(i)*g.until/time.Duration(n+1)
		switch p {
		case Swaps:
			g.swap(at)
		case Foreigners:
			g.foreigner(at)
		case Starts:
			g.start(at)
		case Outages:
			g.outage(at)
		case Rates:
			g.rates(at)
		case Watches:
			g.watched(at)
		case AllDown:
			g.allDown(at)
		case Answers:
			g.answers(at)
		case Recreated:
			g.recreated(at)
		}
	}
	slices.SortStableFunc(g.c.Scenario.Events, func(a, b simulation.Event) int { return cmp.Compare(a.At, b.At) })
	g.c.Scenario.Until = g.until + 950*time.Millisecond
	g.dates()
	return g.c
}

// small makes one zone in which things happen, with pods of all kinds of tolerations, and one that is well.
func (g *generator) small(most int) {
	for i, nodes := range []int{3 + g.IntN(most), 2 + g.IntN(2)} {
		z := simulation.Zone{Name: string(rune('a' + i)), Nodes: nodes, PodsPerNode: 1 + g.IntN(2), TolerationSeconds: of(pick[simulation.TolerationSeconds](g, simulation.NoToleration, 0, 5, 30, 60, 120))}
		g.c.Scenario.Cluster.Zones = append(g.c.Scenario.Cluster.Zones, z)
		gz := g.zone(z.Key())
		for k := range nodes {
			g.addNode(z.NodeName(k), gz)
		}
	}
	for i := range 1 + g.IntN(2) {
		n := g.fileNode(i, "a")
		for k := range 2 + g.IntN(3) {
			g.c.Pods = append(g.c.Pods, g.tolerant(fmt.Sprintf("%s-q%d", n.Name, k), n.Name))
		}
	}
}

// beside has people do some of what they do, in the zone that is well.
func (g *generator) beside(at time.Duration) {
	z := g.zones[1]
	one, gone := z.nodes[0], z.nodes[1]
	nodes := selected([]string{one})
	pod := func(node string) simulation.Event {
		return simulation.Event{DeletePod: &simulation.Pod{Name: node + "-p0"}}
	}
	events := []simulation.Event{
		pod(one), pod(gone), {Cordon: &nodes}, {Uncordon: &nodes}, {Untaint: &simulation.Untaint{Nodes: nodes, Key: "gpu", Effect: v1.TaintEffectNoExecute}},
		{AddNode: &simulation.AddNode{Name: "new", Zone: z.key.Zone, PodsPerNode: 1}}, {DeleteNode: of(selected([]string{gone}))},
	}
	for _, i := range g.Perm(len(events))[:2+g.IntN(4)] {
		if events[i].DeleteNode != nil {
			g.deleteNode(gone)
			events[1] = pod(one) // it goes with its node
		}
		g.do(at, events[i])
		at += seconds(2 + g.IntN(20))
	}
}

// tolerant makes a pod whose tolerations of our two taints differ, most often, and that tolerates some others.
func (g *generator) tolerant(name, node string) *v1.Pod {
	p := g.pod(name, node)
	p.Annotations, p.Status.Phase, p.Status.Conditions[0].Status, p.Spec.Tolerations = nil, v1.PodRunning, v1.ConditionTrue, nil
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable, "maintenance", "gpu"} {
		t := v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
		if lasts := pick(g, -2, -1, 0, 7, 30, 60, 90, 200); lasts == -2 {
			continue
		} else if lasts >= 0 {
			t.TolerationSeconds = of(int64(lasts))
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, t)
	}
	return p
}

// moment is an instant at which nothing else happens.
func (g *generator) moment(at time.Duration) time.Duration {
	g.serial++
	return max(time.Second, min(at, g.until-time.Second)).Truncate(100*time.Millisecond) + time.Duration(1+(g.serial*31)%97)*time.Millisecond
}

func (g *generator) do(at time.Duration, e simulation.Event) { g.add(g.moment(at), e) }

// victims are nodes of the first zone, with one that has pods of all kinds.
func (g *generator) victims() (names []string) {
	names = append(names, "file-0")
	z := g.zones[0]
	for range g.IntN(len(z.nodes)) {
		if name := z.nodes[g.IntN(len(z.nodes))]; !slices.Contains(names, name) && g.nodes[name] != nil {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return g.nodes[name] == nil })
}

func selected(names []string) simulation.Nodes { return simulation.Nodes{Names: slices.Clone(names)} }

func (g *generator) failing(at time.Duration, names []string) {
	g.do(at, simulation.Event{Fail: of(selected(names))})
}
func (g *generator) back(at time.Duration, names []string) {
	g.do(at, simulation.Event{Recover: of(selected(names))})
}
func (g *generator) says(at time.Duration, names []string, ready v1.ConditionStatus) {
	g.do(at, simulation.Event{Condition: &simulation.Condition{Nodes: selected(names), Type: v1.NodeReady, Status: ready}})
}

// some is a time within which taints come and tolerations end.
func (g *generator) some() time.Duration { return seconds(15 + g.IntN(110)) }

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
			g.do(at, simulation.Event{Taint: &simulation.Taint{Nodes: selected(names), Key: key, Value: pick(g, "", "now"), Effect: v1.TaintEffectNoExecute}})
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
		g.do(at+g.some(), simulation.Event{Taint: &simulation.Taint{Nodes: selected(names[:1]), Key: "gpu", Effect: v1.TaintEffectNoExecute}})
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
		g.do(down-seconds(g.IntN(20)), simulation.Event{Taint: &simulation.Taint{Nodes: selected(names[:1]), Key: "gpu", Effect: v1.TaintEffectNoExecute}})
	}
}

// answers: writes fail for a moment or for minutes around the verdict, a turn, the end of a toleration or a return.
func (g *generator) answers(at time.Duration) {
	names := g.victims()
	g.failing(at, names)
	if g.one(3) {
		g.do(at+seconds(g.IntN(60)), simulation.Event{Taint: &simulation.Taint{Nodes: selected(names[:1]), Key: "gpu", Effect: v1.TaintEffectNoExecute}})
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
