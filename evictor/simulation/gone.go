package simulation

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// taintOutOfService is v1.TaintNodeOutOfService, which the oldest API that this is compiled with does not have.
const taintOutOfService = "node.kubernetes.io/out-of-service"

// collectorPeriod is the time between passes of the pod garbage collector, from time 0 on.
const collectorPeriod = 20 * time.Second

// leaveService records whether a node has the out-of-service taint.
func (c *cluster) leaveService(i int32) {
	n := &c.nodes[i]
	if !n.deleted && slices.ContainsFunc(n.taints, func(t v1.Taint) bool { return t.Key == taintOutOfService }) {
		c.outOfService[i] = true
	} else if len(c.outOfService) > 0 {
		delete(c.outOfService, i)
	}
}

// nextCollection returns when the pod garbage collector next has a reason to pass.
func (p *player) nextCollection() time.Duration {
	waits := len(p.cluster.outOfService)+len(p.cluster.orphans)+len(p.cluster.quarantine) > 0
	if !waits || p.stalled() || p.cluster.outside.PodGC {
		return never
	}
	now := p.cluster.Clock.Elapsed()
	return now - now%collectorPeriod + collectorPeriod
}

// collect removes the objects of deleted pods from nodes that are out of service and not Ready, and those of pods whose
// node is gone.
func (p *player) collect(at time.Duration) {
	c := p.cluster
	if at%collectorPeriod != 0 || p.stalled() || c.outside.PodGC {
		return
	}
	var nodes []int32
	for i := range c.outOfService {
		nodes = append(nodes, i)
	}
	slices.Sort(nodes)
	for _, i := range nodes {
		n := &c.nodes[i]
		if ready := findCondition(n.conditions, v1.NodeReady); ready >= 0 && n.conditions[ready].Status == v1.ConditionTrue {
			continue
		}
		for _, key := range c.SortedPods(n.name) {
			if k, ok := c.findPod(key); ok && c.pods[k].terminating {
				p.removed(n.name, k, "the node is out of service")
			}
		}
	}
	p.collectOrphans(at)
}

// removed takes the object of a pod away, as the pod garbage collector does.
func (p *player) removed(node string, i int32, why string) {
	c := p.cluster
	key := c.keyOf(&c.pods[i])
	if s := c.pods[i].spec; s.OwnerKind != "DaemonSet" && !s.Mirror {
		p.report.Removed++
	}
	p.line(timeline.Line{T: c.Clock.Elapsed(), Kind: timeline.KindRemove, Node: node, Pod: joinPodName(key.Namespace, key.Name), More: because(why)})
	c.takeAway(i)
}

// lasting returns the taints that a replaced node has again: not those that controllers and people add.
func lasting(taints []v1.Taint) (kept []v1.Taint) {
	for _, t := range taints {
		if !strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			kept = append(kept, t)
		}
	}
	return kept
}

// successorOf is what a deleted node passes on to its replacement.
type successorOf struct {
	node    node
	daemons []daemon
}

// daemon is a pod that belongs to its node.
type daemon struct {
	key    evictor.PodKey
	spec   *podSpec
	member int32
}

// heir returns what the replacement of a node gets.
func (c *cluster) heir(n *node) (h successorOf) {
	h.node = node{name: n.name, labels: n.labels, taints: n.fresh, room: n.room.emptied()}
	for k := n.firstPod; k >= 0; k = c.pods[k].next {
		if pod := &c.pods[k]; pod.spec.OwnerKind == "DaemonSet" || pod.spec.Mirror {
			id := c.pods[k].id
			h.daemons = append(h.daemons, daemon{evictor.PodKey{Namespace: c.spaces[id.space], Name: id.name}, pod.spec, pod.member})
		}
	}
	slices.Reverse(h.daemons) // in the order in which they were added
	return h
}

// replaceNode deletes nodes, or adds their replacements.
func (p *player) replaceNode(e *Planned) error {
	c := p.cluster
	defer p.remember()
	if e.registers {
		for i := range e.heirs {
			if err := p.register(&e.heirs[i]); err != nil {
				return err
			}
			p.touch(e.heirs[i].node.name)
		}
		return nil
	}
	later := *e
	later.At, later.registers = shift(c.Clock.Elapsed(), e.ReplaceNode.After), true
	a := e.does()
	a.do = func(_ *player, _ *Planned, n *node) {
		later.heirs = append(later.heirs, c.heir(n))
		c.DeleteNode(n)
	}
	if err := p.choose(e, &a); err != nil {
		return err
	}
	p.warnOfReplacing(e, len(later.heirs))
	p.plan(&later)
	return nil
}

func (p *player) register(h *successorOf) error {
	c := p.cluster
	h.node.created, h.node.conditions, h.node.reported = stamp(c.now()), c.registered(), c.now()
	for i := range h.node.taints {
		if t := &h.node.taints[i]; t.TimeAdded != nil {
			*t = newTaint(t.Key, t.Value, t.Effect, stamp(c.now()))
		}
	}
	h.node.taints = admittedWith(h.node.taints)
	if err := c.addNode(h.node); err != nil {
		return err
	}
	c.tellHappening(h.node.name, "a new node of this name registers")
	for _, d := range h.daemons {
		if _, exists := c.findPod(d.key); exists {
			continue // the new kubelet runs it
		}
		if err := c.addWanted(c.id(d.key), pod{spec: d.spec, ready: true, bound: c.now(), member: d.member}, h.node.name); err != nil {
			return err
		}
	}
	c.startKubelet(c.nodeByID[h.node.name])
	return nil
}
