package evictor_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
)

// In some lives the first pods of each two or three nodes go together: Options.Together.

func newLivesGang(random *rand.Rand) int {
	return []int{2, 3, 0, 0, 0, 0, 0, 0}[random.Intn(8)]
}

// gang names the pods that go with a pod, itself included; none if it goes alone.
func (p livesPlan) gang(pod string) (names []string) {
	var number, on int
	if n, _ := fmt.Sscanf(pod, "p%d-%d", &number, &on); p.Gang == 0 || n != 2 || on != 0 {
		return nil
	}
	for i := range p.Gang {
		names = append(names, fmt.Sprintf("p%d-0", number/p.Gang*p.Gang+i))
	}
	return names
}

func (p livesPlan) together(pod *v1.Pod) (keys []evictor.PodKey) {
	for _, name := range p.gang(pod.Name) {
		keys = append(keys, livesPodKey(name))
	}
	return keys
}

// livesDeparture is a group of which the first has left.
type livesDeparture struct {
	condemned evictor.PodRef
	first     types.UID
	others    map[types.UID]evictor.PodRef // without the first
	began     time.Time
}

// company are the pods that go with a condemned one, as far as the process was shown them.
func (m *livesMind) company(condemned evictor.PodRef, deadline time.Time) (refs []evictor.PodRef) {
	for _, name := range m.world.plan.gang(condemned.Name) {
		pod, known := m.process.seenPods[name], m.pods[name]
		if pod == nil || known.Pod == nil || known.UID != pod.UID || pod.UID == condemned.UID || known.evicted || m.process.seenNodes[pod.Spec.NodeName] == nil || m.nodes[pod.Spec.NodeName] == nil {
			continue
		}
		leaves := false
		for _, d := range m.departures {
			_, goes := d.others[pod.UID]
			leaves = leaves || goes || d.condemned.UID == pod.UID
		}
		if !leaves && pod.DeletionTimestamp == nil && !livesSpared(pod) && pod.CreationTimestamp.Time.Before(deadline.Truncate(time.Second)) {
			refs = append(refs, evictor.PodRef{PodKey: livesPodKey(name), UID: pod.UID, Node: pod.Spec.NodeName})
		}
	}
	return refs
}

// leaves judges an eviction, of a pod that goes alone, is condemned, or goes with one that is.
func (m *livesMind) leaves(ref evictor.PodRef, why evictor.Decision) string {
	condemned := ref
	if why.With.Name != "" {
		condemned = why.With
	}
	if d := m.departures[condemned.UID]; d != nil { // nothing calls it off any more
		_, goes := d.others[ref.UID]
		return livesRules{
			{m.mayWrite(false), m.mayWrite(false) != ""},
			{"goes with nobody", !goes && ref.UID != condemned.UID && ref.UID != d.first}, // a store that goes back shows the first again
			{m.identity(ref), m.identity(ref) != ""},
			{"the condemned pod does not go last", ref.UID == condemned.UID && m.remains(d) != ""},
		}.first()
	}
	company := m.company(condemned, why.Deadline)
	rules := livesRules{
		{m.evicts(condemned, why), true},
		{"goes with nobody", ref != condemned && !slices.Contains(company, ref)},
		{"the condemned pod does not go last", ref == condemned && len(company) > 0},
	}
	if len(company) > 0 {
		company = append(company, condemned)
	}
	for _, one := range company {
		node := m.nodes[one.Node]
		until, protected := m.world.budgets[one.Name]
		rules = append(rules, livesRules{
			{"leaves though one is held", one != condemned && m.held(node)},
			{"leaves though one may not be harmed", !m.mayHarm(node)},
			{"leaves though one is refused", m.world.plan.May && !m.pods[one.Name].permitted.Equal(m.world.now)},
			{"leaves though a budget protects one", protected && m.world.now.Before(until)},
		}...)
	}
	return rules.first()
}

// identity says why the pod is not the one that was meant.
func (m *livesMind) identity(ref evictor.PodRef) string {
	pod, shown := m.pods[ref.Name], m.process.seenPods[ref.Name]
	return livesRules{
		{"evicted what the store does not show (decision 7)", pod.Pod == nil || pod.UID != ref.UID || shown == nil || shown.UID != ref.UID},
		{"row a pod is evicted once for all reasons", pod.evicted},
		{"row terminating pods are left alone", pod.Pod != nil && pod.DeletionTimestamp != nil},
	}.first()
}

// remains names one of the others that the process was shown, and that is still there.
func (m *livesMind) remains(d *livesDeparture) string {
	for _, ref := range d.others {
		shown, known := m.process.seenPods[ref.Name], m.pods[ref.Name]
		if shown != nil && shown.UID == ref.UID && shown.DeletionTimestamp == nil && !known.evicted && !livesSpared(shown) && m.process.seenNodes[ref.Node] != nil && !m.removed(ref.Node, d) {
			return ref.Name
		}
	}
	return ""
}

// removed says whether the node was replaced since the group began to leave: what was to leave it goes with it.
func (m *livesMind) removed(node string, d *livesDeparture) bool {
	known := m.nodes[node]
	return known == nil || known.first.After(d.began)
}

// departed is told of each eviction that the API server answered.
func (m *livesMind) departed(ref evictor.PodRef, why evictor.Decision, company []evictor.PodRef, err error) {
	if why.With.Name == "" || m.departures[why.With.UID] != nil || err != nil && !apierrors.IsNotFound(err) {
		return
	}
	d := &livesDeparture{condemned: why.With, first: ref.UID, others: map[types.UID]evictor.PodRef{}, began: m.world.now}
	for _, one := range company {
		if one.UID != ref.UID {
			d.others[one.UID] = one
		}
	}
	if m.departures == nil {
		m.departures = map[types.UID]*livesDeparture{}
	}
	m.departures[why.With.UID] = d
}

// behind: none of a group stays once the first has left.
func (m *livesMind) staysBehind() {
	for _, d := range m.departures {
		refs := []evictor.PodRef{d.condemned}
		for _, ref := range d.others {
			refs = append(refs, ref)
		}
		for _, ref := range refs {
			pod := m.world.pods.now[ref.Name]
			if pod != nil && pod.UID == ref.UID && pod.DeletionTimestamp == nil && !livesSpared(pod) && m.world.nodes.now[ref.Node] != nil && !m.removed(ref.Node, d) {
				m.wrong("one of a group stays behind", "%s, with which %s was to go, after %s", ref.Name, d.condemned.Name, livesSince(d.began))
			}
		}
	}
}

// CheckEviction implements evictor.EvictionChecker.
func (p *livesProcess) CheckEviction(_ context.Context, ref evictor.PodRef, why evictor.Decision) error {
	w := p.world
	w.enter()
	defer w.mu.Unlock()
	if until, protected := w.budgets[ref.Name]; protected && w.now.Before(until) {
		condemned := ref
		if why.With.Name != "" {
			condemned = why.With
		}
		p.mind.emptied(condemned.Node, errLivesPanic)
		return apierrors.NewTooManyRequests("a budget protects it", 0)
	}
	return nil
}
