package differential

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/zone"
)

// truth is what the scenario itself says, whatever either side made of it.
type truth struct {
	settings  settings
	zoneOf    map[string]string // of every node that ever exists
	health    map[string][]moment
	foreign   map[string][]foreign     // NoExecute taints of people on a node
	again     []moment                 // when a node was given a foreign NoExecute taint that it had
	spared    map[string]bool          // pods that ended or are mirrors
	added     []moment                 // nodes that were added later
	deleted   map[string]time.Duration // pods that an event deletes
	bound     map[string]time.Duration // pods that were added later
	removed   map[string]time.Duration // nodes that are deleted
	restarts  []time.Duration
	outages   []outage                   // of the API, for the evictor
	unheardOf []span                     // of the API, for kubelets
	stale     []stale                    // leases of which the watch loses the renewals
	reports   map[string][]time.Duration // when a condition changed
	order     []string                   // nodes of time 0, as kubelets count them
}

// settings are what applies to a scenario.
type settings struct {
	scenariofile.Config
	scenariofile.Heartbeat
	Until time.Duration
}

// moment is when a node became healthy or unhealthy.
type moment struct {
	at      time.Duration
	name    string
	failing bool
	silent  bool
	renewed bool // the lease, after the API was down for kubelets; the next report may come later
}

type span struct{ from, to time.Duration }

// outage is when the API is down for the evictor, or only fails its writes.
type outage struct {
	span
	reads bool // it reads all the same
	busy  bool // writes are refused for now
}

// foreign is when a node has a taint of that key.
type foreign struct {
	span
	key string
}

// stale is when the watch loses the renewals of a node's lease, until it shows one again.
type stale struct {
	span
	node  string
	after time.Duration // each is shown that much later; 0 means never
}

const forever = time.Duration(1<<63 - 1)

var epoch = simulation.Epoch

func (s span) holds(t time.Duration) bool { return s.from <= t && t <= s.to }

func truthOf(c *Case) *truth {
	t := &truth{settings: settings{c.Scenario.Config, c.Scenario.Heartbeat, c.Scenario.Until}, zoneOf: map[string]string{}, health: map[string][]moment{}, foreign: map[string][]foreign{}, reports: map[string][]time.Duration{}, spared: map[string]bool{}, deleted: map[string]time.Duration{}, bound: map[string]time.Duration{}, removed: map[string]time.Duration{}}
	var generated []string
	for i := range c.Scenario.Cluster.Zones {
		z := &c.Scenario.Cluster.Zones[i]
		for k := range z.Nodes {
			t.zoneOf[z.NodeName(k)] = keyOf(z).String()
			generated = append(generated, z.NodeName(k))
		}
	}
	for _, n := range c.Nodes {
		t.order = append(t.order, n.Name)
		t.zoneOf[n.Name] = zone.KeyOf(n.Labels).String()
		for _, taint := range n.Spec.Taints {
			if taint.Effect == v1.TaintEffectNoExecute {
				t.foreign[n.Name] = append(t.foreign[n.Name], foreign{span{0, forever}, taint.Key})
			}
		}
	}
	t.order = append(t.order, generated...)
	for _, p := range c.Pods {
		t.spared[p.Name] = p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed || p.Annotations[v1.MirrorPodAnnotationKey] != ""
	}
	events := slices.Clone(c.Scenario.Events)
	slices.SortStableFunc(events, func(a, b simulation.Event) int { return cmp.Compare(a.At, b.At) })
	for i := range events {
		t.event(&events[i])
	}
	for i := range c.Scenario.Availability {
		t.trace(&c.Scenario.Availability[i])
	}
	for _, s := range t.unheardOf {
		for name := range t.zoneOf {
			t.unheard(name, s)
		}
	}
	return t
}

// unheard makes a node silent while the API is down for kubelets, and until its next renewal.
func (t *truth) unheard(name string, s span) {
	back := s.to
	if s.to != forever && !t.state(name, s.to).silent {
		back = t.renewal(name, s.to)
	}
	after := t.state(name, back)
	after.at, after.renewed = back, !after.silent
	kept := slices.DeleteFunc(slices.Clone(t.health[name]), func(m moment) bool { return m.at >= s.from && m.at <= back })
	kept = append(kept, moment{at: s.from, failing: true, silent: true})
	if back != forever {
		kept = append(kept, after)
	}
	slices.SortStableFunc(kept, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	t.health[name] = kept
}

// renewal returns when a kubelet that lives renews its lease next.
func (t *truth) renewal(name string, at time.Duration) time.Duration {
	interval := t.settings.Interval
	first := time.Duration(0)
	if i := slices.Index(t.order, name); i >= 0 && t.settings.Spread != scenariofile.SpreadNone {
		first = interval * time.Duration(i) / time.Duration(len(t.order))
	}
	silent := false
	for _, m := range t.added {
		if m.name == name {
			first = m.at
		}
	}
	for _, m := range t.health[name] {
		if m.at <= at && silent && !m.silent {
			first = m.at
		}
		silent = m.silent
	}
	for first < at {
		first += interval
	}
	return first
}

// lastBeat is when a kubelet that lives until then last renewed its lease or reported.
func (t *truth) lastBeat(name string, before time.Duration) time.Duration {
	began, silent := time.Duration(0), false
	for _, m := range t.added {
		if m.name == name {
			began = m.at
		}
	}
	beat := time.Duration(0)
	for _, m := range t.health[name] {
		if m.at < before && !m.silent {
			if beat = m.at; silent {
				began = m.at
			}
		}
		silent = m.silent
	}
	if last := t.renewal(name, before) - t.settings.Interval; last >= t.renewal(name, began) {
		beat = max(beat, last)
	}
	for _, at := range t.reports[name] {
		if at < before {
			beat = max(beat, at)
		}
	}
	return max(beat, began+(before-began).Truncate(t.settings.StatusInterval))
}

// passFrom is the first pass at that instant or after it.
func (t *truth) passFrom(at time.Duration) time.Duration {
	began := t.started(at)
	since := (at - began).Truncate(t.settings.NodeMonitorPeriod)
	if began+since < at {
		since += t.settings.NodeMonitorPeriod
	}
	return began + since
}

// trace adds what a trace does to the nodes of its zone, in the order of their names. Only conditions can change there
// beside it.
func (t *truth) trace(driver *scenariofile.Availability) {
	names := t.selected(&simulation.Nodes{Zone: driver.Zone})
	slices.Sort(names)
	alive := len(names)
	for j, sample := range driver.Alive {
		at, now := time.Duration(j)*driver.Gap, living(driver, sample, len(names))
		for _, name := range names[min(alive, now):max(alive, now)] {
			t.health[name] = append(t.health[name], moment{at: at, failing: now < alive, silent: now < alive})
		}
		alive = now
	}
	for _, name := range names {
		slices.SortStableFunc(t.health[name], func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	}
}

// living returns how many of so many nodes are live while a sample of the trace holds. Without a scale it is the sample's share
// of the largest one, rounded to the nearest node, half up.
func living(driver *scenariofile.Availability, sample, nodes int) int {
	if driver.Scale != nil {
		return min(sample**driver.Scale, nodes)
	}
	largest := slices.Max(driver.Alive)
	if largest == 0 {
		return 0
	}
	return (2*sample*nodes + largest) / (2 * largest)
}

func (t *truth) event(e *simulation.Event) {
	at := e.At
	for _, s := range []struct {
		selector *simulation.Nodes
		failing  bool
	}{{e.Fail, true}, {e.Recover, false}} {
		if s.selector != nil {
			for _, name := range t.selected(s.selector) {
				if s.failing == t.state(name, at).silent {
					continue // it is silent already, or lives and goes on to say what it says
				}
				t.health[name] = append(t.health[name], moment{at: at, failing: s.failing, silent: s.failing})
			}
		}
	}
	if c := e.Condition; c != nil {
		for _, name := range t.selected(&c.Nodes) {
			if t.reports[name] = append(t.reports[name], at); c.Type == v1.NodeReady {
				t.health[name] = append(t.health[name], moment{at: at, failing: c.Status != v1.ConditionTrue})
			}
		}
	}
	t.taints(e)
	t.objects(e)
	t.watch(e)
}

// taints notes which foreign taints come and go.
func (t *truth) taints(e *simulation.Event) {
	if e.Taint != nil && e.Taint.Effect == v1.TaintEffectNoExecute {
		for _, name := range t.selected(&e.Taint.Nodes) {
			if t.hasForeign(name, e.At) {
				t.again = append(t.again, moment{at: e.At, name: name})
			}
			t.foreign[name] = append(t.foreign[name], foreign{span{e.At, forever}, e.Taint.Key})
		}
	}
	if e.Untaint != nil && e.Untaint.Effect == v1.TaintEffectNoExecute {
		for _, name := range t.selected(&e.Untaint.Nodes) {
			for i := range t.foreign[name] {
				if s := &t.foreign[name][i]; s.key == e.Untaint.Key {
					s.to = min(s.to, e.At)
				}
			}
		}
	}
}

// objects notes which nodes and pods come and go.
func (t *truth) objects(e *simulation.Event) {
	at := e.At
	switch {
	case e.AddNode != nil:
		t.zoneOf[e.AddNode.Name] = zone.Key{Region: e.AddNode.Region, Zone: e.AddNode.Zone}.String()
		t.added = append(t.added, moment{at: at, name: e.AddNode.Name})
		for i := range e.AddNode.PodsPerNode {
			t.bound[fmt.Sprintf("%s-p%d", e.AddNode.Name, i)] = at
		}
	case e.DeleteNode != nil:
		for _, name := range t.selected(e.DeleteNode) {
			t.removed[name] = at
		}
	case e.AddPod != nil:
		t.bound[e.AddPod.Name] = at
	case e.DeletePod != nil:
		t.deleted[e.DeletePod.Name] = at
	}
}

// watch notes what happens to the program and to what it hears.
func (t *truth) watch(e *simulation.Event) {
	at := e.At
	switch {
	case e.Restart != nil:
		t.restarts = append(t.restarts, at)
	case e.LoseLeases != nil:
		for _, name := range t.selected(&e.LoseLeases.Nodes) {
			t.stale = append(t.stale, stale{span{at, forever}, name, e.LoseLeases.ShowAfter})
		}
	case e.ShowLeases != nil:
		for _, name := range t.selected(e.ShowLeases) {
			for i := range t.stale {
				if s := &t.stale[i]; s.node == name {
					s.to = min(s.to, at+t.settings.Interval)
				}
			}
		}
	case e.API != nil:
		t.api(at, e.API)
	}
}

// mute says whether the node is one that has never reported when the scenario begins.
func mute(n *v1.Node) bool {
	return len(n.Status.Conditions) > 0 && !slices.ContainsFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
}

// hasForeign says whether people have tainted the node.
func (t *truth) hasForeign(node string, at time.Duration) bool {
	return slices.ContainsFunc(t.foreign[node], func(s foreign) bool { return s.holds(at) })
}

// lost says whether the watch loses the renewals of the node's lease at any time within that span.
func (t *truth) lost(node string, from, to time.Duration) bool {
	return slices.ContainsFunc(t.stale, func(s stale) bool { return s.node == node && s.from <= to && s.to >= from })
}

// shownAfter is how much later than they are made the watch shows the renewals of the node's lease.
func (t *truth) shownAfter(node string, at time.Duration) (longest time.Duration) {
	for _, s := range t.stale {
		if s.node == node && s.holds(at) {
			longest = max(longest, s.after)
		}
	}
	return longest
}

func (t *truth) api(at time.Duration, a *simulation.API) {
	if a.State == simulation.APIUp {
		for i := range t.outages {
			t.outages[i].to = min(t.outages[i].to, at)
		}
		for i := range t.unheardOf {
			t.unheardOf[i].to = min(t.unheardOf[i].to, at)
		}
		return
	}
	if a.For != simulation.ForKubelets {
		t.outages = append(t.outages, outage{span{at, forever}, a.State == simulation.APIFailing, a.Answer == simulation.AnswerBusy})
	}
	if a.For != simulation.ForEvictor {
		t.unheardOf = append(t.unheardOf, span{at, forever})
	}
}

// selected resolves the selectors that the generator and the shrinker write: names, or a whole zone.
func (t *truth) selected(s *simulation.Nodes) []string {
	if s.Zone == "" {
		return s.Names
	}
	var names []string
	for name, key := range t.zoneOf {
		if key == s.Zone || strings.HasSuffix(key, ":"+s.Zone) {
			names = append(names, name)
		}
	}
	return names
}

// failing says whether the node's kubelet is silent or reports that it is not Ready.
func (t *truth) failing(node string, at time.Duration) bool { return t.state(node, at).failing }

func (t *truth) state(node string, at time.Duration) (last moment) {
	for _, m := range t.health[node] {
		if m.at <= at {
			last = m
		}
	}
	return last
}

// started returns when the process that runs at that instant began.
func (t *truth) started(at time.Duration) (last time.Duration) {
	for _, r := range t.restarts {
		if r <= at {
			last = r
		}
	}
	return last
}
