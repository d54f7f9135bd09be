package simulation

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// drainAgain is the time between tries of pods that a budget protects, as in kubectl drain.
const drainAgain = 5 * time.Second

// drain is a drain in progress.
type drain struct {
	node int32
	next time.Duration
	kept map[evictor.PodKey]bool // the pods that could not be evicted
}

// drain cordons a node and begins to evict its pods.
func (p *player) drain(n *node) {
	c, i := p.cluster, p.cluster.nodeByID[n.name]
	if !n.unschedulable {
		c.Cordon(n, true)
	}
	if !slices.ContainsFunc(p.drains, func(d drain) bool { return d.node == i }) {
		c.tellHappening(n.name, "the node is drained")
		p.drains = append(p.drains, drain{node: i, next: c.Clock.Elapsed(), kept: make(map[evictor.PodKey]bool)})
	}
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
			if d.next = at + drainAgain; !p.empty(n.name, d.kept) {
				continue
			}
		}
		kept = append(kept, d)
	}
	p.drains = kept
}

// empty evicts the pods of a node, except those of DaemonSets and mirror pods, and says whether any are left. Those that
// cannot be evicted are added to kept, and each of them is told of once.
func (p *player) empty(name string, kept map[evictor.PodKey]bool) (left bool) {
	c := p.cluster
	for _, key := range c.SortedPods(name) {
		i, ok := c.findPod(key)
		if !ok || c.pods[i].terminating || c.pods[i].spec.OwnerKind == "DaemonSet" || c.pods[i].spec.Mirror {
			continue
		}
		refusal := c.refusal(i)
		if p.apiDown {
			refusal = errAPIDown
		}
		if refusal != nil {
			if left = true; !kept[key] {
				kept[key] = true
				c.tellKept(name, key, refusal)
			}
			continue
		}
		p.drained(name, key)
		c.deletePod(i)
	}
	return left
}

// tellKept tells that a drain may not evict a pod.
func (c *cluster) tellKept(node string, pod evictor.PodKey, why error) {
	if c.happened == nil {
		return
	}
	text := why.Error()
	if cause, ok := apierrors.StatusCause(why, disruptionBudgetCause); ok {
		text = cause.Message
	}
	c.happened(Happening{At: c.Clock.Elapsed(), Node: node, Kept: pod, Text: fmt.Sprintf("pod %s: the drain tries again every %s: %s", pod, drainAgain, text)})
}

// drained and removed record pods that leave without the controller.
func (p *player) drained(node string, key evictor.PodKey) {
	p.report.Drained++
	p.line(timeline.Line{T: p.cluster.Clock.Elapsed(), Kind: timeline.KindDrain, Node: node, Pod: joinPodName(key.Namespace, key.Name)})
}

func (p *player) removed(node string, key evictor.PodKey) {
	p.report.Removed++
	p.line(timeline.Line{T: p.cluster.Clock.Elapsed(), Kind: timeline.KindRemove, Node: node, Pod: joinPodName(key.Namespace, key.Name), More: because("the node is out of service")})
}
