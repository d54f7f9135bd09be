package simulator

import (
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
)

// indexLoad begins to keep what rescheduling needs.
func (c *Cluster) indexLoad() {
	c.load = &loadIndex{tainted: make(map[int32]struct{})}
	for i := range c.nodes {
		c.load.add(c, int32(i))
	}
}

// evicted lets a pod that a controller owns wait for its return. A DaemonSet's stays away: it belongs
// to its node.
func (c *Cluster) evicted(i int32) {
	p, id := &c.pods[i], c.podIndex.Key(i)
	if c.load == nil || p.spec.OwnerKind == "" || p.spec.OwnerKind == "DaemonSet" {
		return
	}
	c.stats.stranded(c.now(), 1)
	c.comebacks = append(c.comebacks, comeback{at: c.now(), key: evictor.PodKey{Namespace: c.spaces[id.space], Name: id.name}, spec: p.spec})
}

// nextComeback is when a waiting pod is to be scheduled first; those that found no node are tried again
// with each pass.
func (p *player) nextComeback() (time.Duration, bool) {
	c := p.cluster
	if len(c.comebacks) == c.refused {
		return 0, false
	}
	return p.due(&c.comebacks[c.refused]), true
}

// due is when an evicted pod comes back, at the earliest.
func (p *player) due(b *comeback) time.Duration {
	if due := time.Duration(b.at) + p.settings.RescheduleAfter; due >= 0 {
		return due
	}
	return never
}

// comeBack schedules the pods whose time has come. comebacks is in order of eviction; its first refused
// ones found no node before and wait for the next pass, that is for the cluster to look different.
func (p *player) comeBack(at time.Duration) {
	c := p.cluster
	retry := c.refused > 0 && p.passDue(at)
	if due, ok := p.nextComeback(); !retry && (!ok || due > at) {
		return
	}
	var kept []comeback
	full := make(map[*PodSpec]bool) // specs that found no node in this round
	old := c.refused
	i := 0
	for ; i < len(c.comebacks); i++ {
		b := c.comebacks[i]
		if p.due(&b) > at {
			break
		}
		if i < old && !retry || full[b.spec] {
			kept = append(kept, b)
			continue
		}
		target, ok := c.load.best(c, b.spec)
		if !ok {
			full[b.spec] = true
			kept = append(kept, b)
			continue
		}
		p.place(b, target)
	}
	c.refused = len(kept)
	c.comebacks = append(kept, c.comebacks[i:]...)
}

// passDue says whether a monitor pass falls on this instant.
func (p *player) passDue(at time.Duration) bool {
	if period := p.settings.NodeMonitorPeriod; period > 0 {
		return (at-p.origin)%period == 0
	}
	return true
}

func (p *player) place(b comeback, target int32) {
	c := p.cluster
	name := successor(b.key.Name)
	for {
		if _, taken := c.findPod(evictor.PodKey{Namespace: b.key.Namespace, Name: name}); !taken {
			break
		}
		name = successor(name)
	}
	key := evictor.PodKey{Namespace: b.key.Namespace, Name: name}
	node := c.nodes[target].name
	if err := c.addPod(c.id(key), pod{spec: b.spec, ready: true, bound: c.now()}, node); err != nil {
		return
	}
	c.stats.stranded(c.now(), -1)
	c.stats.returned++
	p.line(scenario.Line{T: c.Clock.Elapsed(), Kind: scenario.KindSchedule, Node: node, Pod: scenario.JoinPodName(key.Namespace, key.Name)})
}
