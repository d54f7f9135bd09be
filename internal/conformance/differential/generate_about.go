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
		gz := g.zone(keyOf(&z))
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
