package simulator

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
)

// drainAgain is the time between tries of pods that a budget protects, as in kubectl drain.
const drainAgain = 5 * time.Second

// drain is a drain in progress.
type drain struct {
	node int32
	next time.Duration
}

// drain cordons a node and begins to evict its pods.
func (p *player) drain(name string) bool {
	c := p.cluster
	i, ok := c.nodeByID[name]
	if !ok {
		return false
	}
	if !c.nodes[i].unschedulable {
		c.Cordon(name, true)
	}
	if !slices.ContainsFunc(p.drains, func(d drain) bool { return d.node == i }) {
		c.tellHappening(name, "the node is drained")
		p.drains = append(p.drains, drain{i, c.Clock.Elapsed()})
	}
	return true
}

// nextDrain returns when pods are next tried.
func (p *player) nextDrain() time.Duration {
	next := never
	for i := range p.drains {
		next = min(next, p.drains[i].next)
	}
	return next
}

// goOnDraining tries the pods whose turn it is, in the order in which the drains began. A drain is over once nothing is
// left to evict, or its node is uncordoned or gone.
func (p *player) goOnDraining(at time.Duration) {
	c := p.cluster
	kept := p.drains[:0]
	for _, d := range p.drains {
		n := &c.nodes[d.node]
		switch {
		case n.deleted || !n.unschedulable:
			continue
		case d.next <= at:
			if d.next = at + drainAgain; !p.empty(n.name) {
				continue
			}
		}
		kept = append(kept, d)
	}
	p.drains = kept
}

// empty evicts the pods of a node, except those of DaemonSets and mirror pods, and says whether any are left.
func (p *player) empty(name string) (left bool) {
	c := p.cluster
	for _, key := range c.SortedPods(name) {
		i, ok := c.findPod(key)
		if !ok || c.pods[i].terminating || c.pods[i].spec.OwnerKind == "DaemonSet" || c.pods[i].spec.Mirror {
			continue
		}
		if p.apiDown || c.refusal(i) != nil {
			left = true
			continue
		}
		p.drained(name, key)
		c.deletePod(i)
	}
	return left
}

// drained and removed record pods that leave without the controller.
func (p *player) drained(node string, key evictor.PodKey) {
	p.report.Drained++
	p.line(scenario.Line{T: p.cluster.Clock.Elapsed(), Kind: scenario.KindDrain, Node: node, Pod: scenario.JoinPodName(key.Namespace, key.Name)})
}

func (p *player) removed(node string, key evictor.PodKey) {
	p.report.Removed++
	p.line(scenario.Line{T: p.cluster.Clock.Elapsed(), Kind: scenario.KindRemove, Node: node, Pod: scenario.JoinPodName(key.Namespace, key.Name), More: because("the node is out of service")})
}
