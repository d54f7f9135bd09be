package differential

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
	"github.com/evictkit/evictkit/zone"
)

// truth is what the scenario itself says, whatever either side made of it.
type truth struct {
	settings  scenario.Settings
	zoneOf    map[string]string // of every node that ever exists
	health    map[string][]moment
	foreign   map[string][]span        // foreign NoExecute taints of a node
	again     []moment                 // when a node was given a foreign NoExecute taint that it had
	spared    map[string]bool          // pods that ended or are mirrors
	added     []moment                 // nodes that were added later
	deleted   map[string]time.Duration // pods that an event deletes
	bound     map[string]time.Duration // pods that were added later
	removed   map[string]time.Duration // nodes that are deleted
	restarts  []time.Duration
	outages   []span   // of the API, for the evictor
	unheardOf []span   // of the API, for kubelets
	stale     []stale  // leases of which the watch loses the renewals
	order     []string // nodes of time 0, as kubelets count them
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

// stale is when the watch loses the renewals of a node's lease, until it shows one again.
type stale struct {
	span
	node string
}

const forever = time.Duration(1<<63 - 1)

var epoch = simulator.Epoch

func (s span) holds(t time.Duration) bool { return s.from <= t && t <= s.to }

func truthOf(c *Case) *truth {
	t := &truth{settings: c.Scenario.Settings(), zoneOf: map[string]string{}, health: map[string][]moment{}, foreign: map[string][]span{}, spared: map[string]bool{}, deleted: map[string]time.Duration{}, bound: map[string]time.Duration{}, removed: map[string]time.Duration{}}
	var generated []string
	for i := range c.Scenario.Cluster.Zones {
		z := &c.Scenario.Cluster.Zones[i]
		for k := range z.Nodes {
			t.zoneOf[z.NodeName(k)] = z.Key().String()
			generated = append(generated, z.NodeName(k))
		}
	}
	for _, n := range c.Nodes {
		t.order = append(t.order, n.Name)
		t.zoneOf[n.Name] = zone.KeyOf(n.Labels).String()
		for _, taint := range n.Spec.Taints {
			if taint.Effect == v1.TaintEffectNoExecute {
				t.foreign[n.Name] = append(t.foreign[n.Name], span{0, forever})
			}
		}
	}
	t.order = append(t.order, generated...)
	for _, p := range c.Pods {
		t.spared[p.Name] = p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed || p.Annotations[v1.MirrorPodAnnotationKey] != ""
	}
	events := slices.Clone(c.Scenario.Events)
	slices.SortStableFunc(events, func(a, b scenario.Event) int { return cmp.Compare(a.Time(), b.Time()) })
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
	interval := t.settings.HeartbeatInterval
	first := interval
	if i := slices.Index(t.order, name); i >= 0 && t.settings.Spread != scenario.SpreadNone {
		first += interval * time.Duration(i) / time.Duration(len(t.order))
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

// trace adds what a trace does to the nodes of its zone, in the order of their names. Only conditions can change there
// beside it.
func (t *truth) trace(driver *scenario.ZoneTrace) {
	names := t.selected(&scenario.Selector{Zone: driver.Zone})
	slices.Sort(names)
	alive := len(names)
	for j := range driver.Trace.Len() {
		at, now := time.Duration(j)*driver.Trace.Gap(), driver.Trace.Alive(driver.Trace.Sample(j), len(names), driver.Scale)
		for _, name := range names[min(alive, now):max(alive, now)] {
			t.health[name] = append(t.health[name], moment{at: at, failing: now < alive, silent: now < alive})
		}
		alive = now
	}
	for _, name := range names {
		slices.SortStableFunc(t.health[name], func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	}
}

func (t *truth) event(e *scenario.Event) {
	at := e.Time()
	for _, s := range []struct {
		selector *scenario.Selector
		failing  bool
	}{{e.Fail, true}, {e.Recover, false}} {
		if s.selector != nil {
			for _, name := range t.selected(s.selector) {
				t.health[name] = append(t.health[name], moment{at: at, failing: s.failing, silent: s.failing})
			}
		}
	}
	switch {
	case e.Condition != nil && e.Condition.Type == string(v1.NodeReady):
		t.health[e.Condition.Node] = append(t.health[e.Condition.Node], moment{at: at, failing: e.Condition.Status != string(v1.ConditionTrue)})
	case e.Taint != nil && e.Taint.Effect == string(v1.TaintEffectNoExecute):
		if slices.ContainsFunc(t.foreign[e.Taint.Node], func(s span) bool { return s.holds(at) }) {
			t.again = append(t.again, moment{at: at, name: e.Taint.Node})
		}
		t.foreign[e.Taint.Node] = append(t.foreign[e.Taint.Node], span{at, forever})
	case e.Untaint != nil && e.Untaint.Effect == string(v1.TaintEffectNoExecute):
		// It does not matter which of them goes: spans only say that there may be more than one.
		for i, s := range t.foreign[e.Untaint.Node] {
			if s.to == forever && len(t.foreign[e.Untaint.Node]) == 1 {
				t.foreign[e.Untaint.Node][i].to = at
			}
		}
	case e.AddNode != nil:
		t.zoneOf[e.AddNode.Name] = scenario.ZoneKey{Region: e.AddNode.Region, Zone: e.AddNode.Zone}.String()
		t.added = append(t.added, moment{at: at, name: e.AddNode.Name})
	case e.DeleteNode != nil:
		t.removed[e.DeleteNode.Node] = at
	case e.AddPod != nil:
		t.bound[e.AddPod.Name] = at
	case e.DeletePod != nil:
		t.deleted[e.DeletePod.Name] = at
	case e.Restart != nil:
		t.restarts = append(t.restarts, at)
	case e.LoseLeases != nil:
		for _, name := range t.selected(&e.LoseLeases.Selector) {
			t.stale = append(t.stale, stale{span{at, forever}, name})
		}
	case e.ShowLeases != nil:
		for _, name := range t.selected(e.ShowLeases) {
			for i := range t.stale {
				if s := &t.stale[i]; s.node == name {
					s.to = min(s.to, at+t.settings.HeartbeatInterval)
				}
			}
		}
	case e.API != nil:
		t.api(at, e.API)
	}
}

// lost says whether the watch loses the renewals of the node's lease at that instant.
func (t *truth) lost(node string, at time.Duration) bool {
	return slices.ContainsFunc(t.stale, func(s stale) bool { return s.node == node && s.holds(at) })
}

func (t *truth) api(at time.Duration, a *scenario.API) {
	if a.State != scenario.APIDown {
		for _, spans := range [][]span{t.outages, t.unheardOf} {
			for i := range spans {
				spans[i].to = min(spans[i].to, at)
			}
		}
		return
	}
	evictor, kubelets := a.Covers()
	if evictor {
		t.outages = append(t.outages, span{at, forever})
	}
	if kubelets {
		t.unheardOf = append(t.unheardOf, span{at, forever})
	}
}

// selected resolves the selectors that the generator and the shrinker write: names, or a whole zone.
func (t *truth) selected(s *scenario.Selector) []string {
	switch {
	case s.Node != "":
		return []string{s.Node}
	case s.Zone != nil:
		var names []string
		for name, key := range t.zoneOf {
			if key == *s.Zone || key[len(key)-min(len(key), len(*s.Zone)):] == *s.Zone {
				names = append(names, name)
			}
		}
		return names
	}
	return s.Nodes
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
