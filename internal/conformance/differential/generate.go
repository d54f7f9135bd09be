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
	"github.com/evictkit/evictkit/zone"
)

// Against says which version of upstream's controllers the scenario is for.
type Against string

// The oracles.
const (
	V137         Against = "v1.37"
	V137Together Against = "v1.37 with all passes at the same instants"
	V118         Against = "v1.18"
	V118Direct   Against = "v1.18 without taints"
)

// late is how much later than the verdict upstream taints a node: v1.18 does it one pass later. Without taints that shows only
// where the timeout is over before the verdict.
func (a Against) late(c *scenariofile.Config) time.Duration {
	found := max(c.NodeMonitorGracePeriod, c.NodeStartupGracePeriod) + c.NodeMonitorPeriod
	if a == V137 || a == V137Together || a == V118Direct && c.PodEvictionTimeout > found {
		return 0
	}
	return c.NodeMonitorPeriod
}

// Budget is the limit of nodes times passes in a scenario.
const Budget = 120_000

// generator makes one case. It tracks what it has made, so that every event is possible.
type generator struct {
	*rand.Rand
	against Against
	c       *Case
	zones   []*genZone
	nodes   map[string]*genNode
	names   []string // of nodes that exist
	pods    []string // made by addPod and not deleted
	serial  int
	until   time.Duration
	large   bool
}

type genZone struct {
	key   zone.Key
	nodes []string
}

type genNode struct {
	zone   *genZone
	failed bool
	taints []string
}

// Generate makes a case from a seed.
func Generate(seed uint64, against Against) *Case {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x65766963746b6974)), against: against, c: &Case{Scenario: *scenariofile.New()}, nodes: map[string]*genNode{}}
	g.large = g.one(25)
	g.config()
	g.cluster()
	g.objects()
	g.events()
	if g.one(8) {
		g.leases()
	}
	g.dates()
	return g.c
}

// leases has the watch lose the lease renewals of some nodes for a while, or until the end. They exist all the time.
func (g *generator) leases() {
	for range 1 + g.IntN(2) {
		z := &g.c.Scenario.Cluster.Zones[g.IntN(len(g.c.Scenario.Cluster.Zones))]
		var names []string
		for range 1 + g.IntN(min(3, z.Nodes)) {
			if name := z.NodeName(g.IntN(z.Nodes)); g.nodes[name] != nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		from := 3*time.Second + g.within(g.until-10*time.Second).Truncate(time.Second) + 503*time.Millisecond
		loses := &simulation.LoseLeases{Nodes: simulation.Nodes{Names: names}}
		if g.one(3) {
			loses.ShowAfter = seconds(1 + g.IntN(120))
		}
		g.add(from, simulation.Event{LoseLeases: loses})
		if to := from + time.Duration(1+g.IntN(300))*time.Second + 2*time.Millisecond; to < g.until {
			g.add(to, simulation.Event{ShowLeases: &simulation.Nodes{Names: names}})
		}
	}
	slices.SortStableFunc(g.c.Scenario.Events, func(a, b simulation.Event) int { return cmp.Compare(a.At, b.At) })
}

func (g *generator) one(in int) bool { return g.IntN(in) == 0 }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func of[T any](v T) *T { return &v }

func (g *generator) config() {
	c := &g.c.Scenario.Config
	if g.one(3) {
		c.NodeMonitorPeriod = seconds(pick(g, 1, 2, 5, 10))
	}
	if g.one(3) {
		c.NodeMonitorGracePeriod = seconds(pick(g, 20, 30, 50, 60))
	}
	if g.one(4) {
		c.NodeStartupGracePeriod = seconds(pick(g, 30, 90))
	}
	// The times between two tokens are multiples of upstream's tick of 100 ms, with exceptions.
	if g.one(2) {
		c.NodeEvictionRate = pick(g, 0.02, 0.05, 0.2, 0.5, 2, 10)
	}
	if g.one(12) {
		c.NodeEvictionRate = pick(g, 0.0, 0.3, 1, 3, 7)
	}
	if g.one(3) {
		c.SecondaryNodeEvictionRate = pick(g, 0.0, 0.05, 0.1, 0.5)
	}
	if g.one(2) {
		c.LargeClusterSizeThreshold = pick(g, 0, 3, 5, 8, 20)
	}
	if g.one(3) {
		c.UnhealthyZoneThreshold = pick(g, 0.2, 0.34, 0.5, 0.75, 1)
	}
	if g.against == V118Direct {
		c.TaintBasedEviction = false
		c.PodEvictionTimeout = seconds(pick(g, 1, 30, 60, 120))
	}
	h := &g.c.Scenario.Heartbeat
	if g.one(4) {
		h.Interval = seconds(pick(g, 2, 5, 8))
	}
	if g.one(2) {
		h.StatusInterval = seconds(pick(g, 20, 45, 60, 600))
	}
	if g.one(4) {
		h.Spread = scenariofile.SpreadNone
	}
}

func (g *generator) cluster() {
	zones, most := 1+g.IntN(3), 10
	minutes := 4 + g.IntN(17)
	if g.large {
		zones, most = 2+g.IntN(5), 120
	}
	for i := range zones {
		z := simulation.Zone{Name: string(rune('a' + i)), Nodes: 1 + g.IntN(most), PodsPerNode: g.podsPerNode(), DaemonSetPodsPerNode: g.IntN(2)}
		if g.one(2) {
			z.Region = "r"
		}
		if !g.one(5) {
			z.TolerationSeconds = of(pick[simulation.TolerationSeconds](g, simulation.NoToleration, 0, 5, 30, 60, 120))
		}
		g.c.Scenario.Cluster.Zones = append(g.c.Scenario.Cluster.Zones, z)
		gz := g.zone(keyOf(&z))
		for k := range z.Nodes {
			g.addNode(z.NodeName(k), gz)
		}
	}
	period := g.c.Scenario.Config.NodeMonitorPeriod
	passes := int(time.Duration(minutes) * time.Minute / period)
	if passes*len(g.names) > Budget {
		passes = Budget / len(g.names)
	}
	g.until = max(2*time.Minute, time.Duration(passes)*period) + 950*time.Millisecond // so that the last pass has its ticks
	g.c.Scenario.Until = g.until
}

// podsPerNode is at least one if only the pods show which node was served.
func (g *generator) podsPerNode() int {
	if g.against == V118Direct {
		return 1 + g.IntN(3)
	}
	return g.IntN(4)
}

func (g *generator) zone(key zone.Key) *genZone {
	for _, z := range g.zones {
		if z.key == key {
			return z
		}
	}
	z := &genZone{key: key}
	g.zones = append(g.zones, z)
	return z
}

func (g *generator) addNode(name string, z *genZone) {
	g.nodes[name] = &genNode{zone: z}
	g.names = append(g.names, name)
	z.nodes = append(z.nodes, name)
}

func (g *generator) deleteNode(name string) {
	z := g.nodes[name].zone
	delete(g.nodes, name)
	g.names = slices.DeleteFunc(g.names, func(n string) bool { return n == name })
	z.nodes = slices.DeleteFunc(z.nodes, func(n string) bool { return n == name })
}

// events makes bursts of events in the order of time. No two events, and no event and pass, are at the same instant.
func (g *generator) events() {
	n := 1 + g.IntN(12)
	var times []time.Duration
	for range n {
		times = append(times, 3*time.Second+g.within(g.until-10*time.Second))
	}
	slices.Sort(times)
	for i, at := range times {
		at += time.Duration(i) * 100 * time.Millisecond // so that what the residue adds changes no order
		at = at.Truncate(100*time.Millisecond) + time.Duration(1+(i*31)%97)*time.Millisecond
		g.event(at)
	}
	events := g.c.Scenario.Events
	slices.SortStableFunc(events, func(a, b simulation.Event) int { return int(a.At - b.At) })
}

// within returns an instant before until.
func (g *generator) within(until time.Duration) time.Duration {
	return until * time.Duration(g.IntN(1000)) / 1000
}

func (g *generator) add(at time.Duration, e simulation.Event) {
	e.At = at
	g.c.Scenario.Events = append(g.c.Scenario.Events, e)
}

func (g *generator) event(at time.Duration) {
	name := g.names[g.IntN(len(g.names))]
	n := g.nodes[name]
	switch k := g.IntN(100); {
	case k < 30:
		g.fail(at)
	case k < 48:
		g.recover(at)
	case k < 56:
		g.condition(at, name, n)
	case k < 66:
		t := simulation.Taint{Nodes: simulation.Nodes{Names: []string{name}}, NodeTaint: simulation.NodeTaint{Key: pick(g, "maintenance", "gpu"), Value: pick(g, "", "now"), Effect: pick[v1.TaintEffect](g, "NoExecute", "NoExecute", "NoExecute", "NoSchedule", "PreferNoSchedule")}}
		n.taints = append(n.taints, t.Key+":"+string(t.Effect))
		g.add(at, simulation.Event{Taint: &t})
	case k < 71:
		g.untaint(at)
	case k < 76:
		if g.one(2) {
			g.add(at, simulation.Event{Cordon: &simulation.Nodes{Names: []string{name}}})
		} else {
			g.add(at, simulation.Event{Uncordon: &simulation.Nodes{Names: []string{name}}})
		}
	case k < 77:
		n.failed, n.taints = false, nil
		g.add(at, simulation.Event{ReplaceNode: &simulation.ReplaceNode{Nodes: simulation.Nodes{Names: []string{name}}}})
	case k < 80:
		if len(g.names) > 1 {
			g.deleteNode(name)
			g.add(at, simulation.Event{DeleteNode: &simulation.Nodes{Names: []string{name}}})
		}
	case k < 85:
		g.newNode(at)
	case k < 92:
		if n.failed && g.against == V118Direct {
			return // its node may have been served without a trace
		}
		g.serial++
		p := simulation.AddPod{Name: fmt.Sprintf("x%d", g.serial), Node: name}
		if !g.one(3) {
			p.TolerationSeconds = of(pick[simulation.TolerationSeconds](g, simulation.NoToleration, 0, 10, 60))
		}
		g.pods = append(g.pods, p.Name)
		g.add(at, simulation.Event{AddPod: &p})
	case k < 94:
		if len(g.pods) > 0 {
			i := g.IntN(len(g.pods))
			g.add(at, simulation.Event{DeletePod: &simulation.Pod{Name: g.pods[i]}})
			g.pods = slices.Delete(g.pods, i, i+1)
		}
	case k < 97:
		g.add(at, simulation.Event{API: &simulation.API{State: simulation.APIDown, For: pick(g, "", simulation.ForEvictor, simulation.ForKubelets)}})
		up := at + time.Duration(1+g.IntN(120))*time.Second + 13*time.Millisecond
		if up < g.until {
			g.add(up, simulation.Event{API: &simulation.API{State: simulation.APIUp}})
		}
	default:
		g.add(at, simulation.Event{Restart: &simulation.Restart{}})
	}
}

func (g *generator) fail(at time.Duration) {
	switch k := g.IntN(10); {
	case k < 4: // one
		name := g.names[g.IntN(len(g.names))]
		g.nodes[name].failed = true
		g.add(at, simulation.Event{Fail: &simulation.Nodes{Names: []string{name}}})
	case k < 6: // part of a zone
		z := g.zones[g.IntN(len(g.zones))]
		if len(z.nodes) == 0 {
			return
		}
		names := slices.Clone(z.nodes)
		g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:1+g.IntN(len(names))]
		for _, name := range names {
			g.nodes[name].failed = true
		}
		g.add(at, simulation.Event{Fail: &simulation.Nodes{Names: names}})
	case k < 9: // a zone
		g.failZone(at, g.zones[g.IntN(len(g.zones))])
	default:
		for _, z := range g.zones {
			g.failZone(at, z)
		}
	}
}

func (g *generator) failZone(at time.Duration, z *genZone) {
	if len(z.nodes) == 0 {
		return
	}
	for _, name := range z.nodes {
		g.nodes[name].failed = true
	}
	g.add(at, simulation.Event{Fail: &simulation.Nodes{Names: slices.Clone(z.nodes)}})
}

func (g *generator) recover(at time.Duration) {
	var failed []string
	for _, name := range g.names {
		if g.nodes[name].failed {
			failed = append(failed, name)
		}
	}
	if len(failed) == 0 {
		return
	}
	if g.one(3) {
		g.Shuffle(len(failed), func(i, j int) { failed[i], failed[j] = failed[j], failed[i] })
		failed = failed[:1+g.IntN(len(failed))]
	}
	for _, name := range failed {
		g.nodes[name].failed = false
	}
	g.add(at, simulation.Event{Recover: &simulation.Nodes{Names: failed}})
}

func (g *generator) condition(at time.Duration, name string, n *genNode) {
	if n.failed {
		return
	}
	c := simulation.Condition{Nodes: simulation.Nodes{Names: []string{name}}, Type: pick[v1.NodeConditionType](g, "Ready", "Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"), Status: pick[v1.ConditionStatus](g, "True", "False")}
	g.add(at, simulation.Event{Condition: &c})
}

func (g *generator) untaint(at time.Duration) {
	for _, name := range g.names {
		if n := g.nodes[name]; len(n.taints) > 0 {
			i := g.IntN(len(n.taints))
			key, effect, _ := cut(n.taints[i])
			n.taints = slices.Delete(n.taints, i, i+1)
			g.add(at, simulation.Event{Untaint: &simulation.Untaint{Nodes: simulation.Nodes{Names: []string{name}}, Key: key, Effect: v1.TaintEffect(effect)}})
			return
		}
	}
}

func (g *generator) newNode(at time.Duration) {
	g.serial++
	a := simulation.AddNode{Name: fmt.Sprintf("new-%d", g.serial), PodsPerNode: g.podsPerNode()}
	if g.one(2) {
		a.TolerationSeconds = of(simulation.NoToleration)
	}
	key := g.zones[g.IntN(len(g.zones))].key
	if g.one(4) {
		key = zone.Key{Zone: fmt.Sprintf("z%d", g.serial)}
	}
	a.Zone, a.Region = key.Zone, key.Region
	g.addNode(a.Name, g.zone(key))
	g.add(at, simulation.Event{AddNode: &a})
}

// keyOf is the key of a generated zone.
func keyOf(z *simulation.Zone) zone.Key { return zone.Key{Region: z.Region, Zone: z.Name} }
