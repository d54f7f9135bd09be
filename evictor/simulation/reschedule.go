package simulation

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/internal/jobs"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/evictor/simulation/internal/statefulsets"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// makeWorkloads makes the controllers of workloads, unless nobody plays them or others do.
func (p *player) makeWorkloads() {
	if c := p.cluster; p.scenario.ReplaceAfter >= 0 && !c.outside.Workloads {
		c.jobController, c.setController = jobs.New(retried{c}), statefulsets.New(sequenced{p})
	}
}

// startWorkloads tells the controllers of workloads, if there are any, of the pods that there are. It makes the pods that
// were deleted before time 0 wait to come back, if their controllers wait until they are gone. Their workloads want them
// all the same.
func (c *cluster) startWorkloads() {
	for i := range c.pods {
		p := &c.pods[i]
		if p.node < 0 {
			continue
		}
		c.appears(p)
		if p.terminating && c.returnsOf(p) == whenGone {
			p.owed = true
			c.book(int32(i)) //nolint:gosec // far fewer
			c.leveled(p.member, 1, 0)
		}
	}
}

// nextComeback returns the time of the next attempt to schedule a waiting pod; never if none waits. Pods that found no node are tried
// again as soon as something has changed.
func (p *player) nextComeback() time.Duration {
	c := p.cluster
	switch {
	case !c.replaces || p.stalled():
		return never
	case p.tryAgain():
		return c.Clock.Elapsed()
	case len(c.waiting.activeQ) > 0:
		return p.due(&c.waiting.activeQ[0])
	}
	return never
}

// due returns the earliest time at which a pod can come back.
func (p *player) due(b *comeback) time.Duration {
	if due := time.Duration(b.at+b.wait) + p.scenario.ReplaceAfter; due >= 0 {
		return due
	}
	return never
}

// tryAgain reports whether pods that found no node are tried again now.
func (p *player) tryAgain() bool {
	c := p.cluster
	return c.waiting.count > 0 && (c.filters.Improved() || c.waiting.minding > 0 && c.waiting.version != c.filters.Version())
}

// comeBack schedules the pods that are due, and retries those that found no node if tryAgain allows it. It tries pods in
// the order in which they could be replaced. If a pod finds no node, pods that are alike are not tried in this round.
func (p *player) comeBack(at time.Duration) {
	c := p.cluster
	if !c.replaces || p.stalled() {
		return
	}
	retry := p.tryAgain()
	if !retry && (len(c.waiting.activeQ) == 0 || p.due(&c.waiting.activeQ[0]) > at) {
		return
	}
	w, version := &c.waiting, c.filters.Version()
	c.filters.Recount()
	full := make(map[placement.Alike]bool) // pods that found no node in this round
	if retry || w.count == 0 {
		p.again(c.filters.TakeImproved(), full)
	}
	for len(w.activeQ) > 0 && p.due(&w.activeQ[0]) <= at {
		b := w.activeQ[0]
		w.activeQ = w.activeQ[1:]
		a, minds := c.filters.Alike(&b.spec.Spec, b.key.Namespace)
		if w.unschedulable[a] != nil {
			full[a] = true // nothing has changed for these pods, or they were just tried
		}
		if !full[a] {
			if target, ok := c.filters.Best(&b.spec.Spec, b.key.Namespace); ok {
				p.place(b, target)
				continue
			}
			full[a] = true
		}
		p.tellPending(at, w.refuse(a, minds, c.filters.StateOf(&b.spec.Spec), b), &b)
	}
	if retry {
		w.version = version
	}
	c.stats.MostPending = max(c.stats.MostPending, w.count)
}

// tellPending tells that a pod found no node, and why. Finding the reason takes a look at every node, so it is reused for
// one second for all pods that are alike.
func (p *player) tellPending(at time.Duration, q *queue, b *comeback) {
	s := p.scenario
	if s.Timeline == nil && s.Refused == nil {
		return
	}
	if q.refusal == nil || at-q.asked >= time.Second {
		q.refusal, q.asked = p.cluster.whyNot(b), at
		q.why = because(q.refusal.String())
	}
	if s.Refused != nil {
		s.Refused(at, b.key, q.refusal)
	}
	p.line(timeline.Line{T: at, Kind: timeline.KindPending, Pod: joinPodName(b.key.Namespace, b.key.Name), More: q.why})
}

// again retries pods that found no node before.
func (p *player) again(improved []int32, full map[placement.Alike]bool) {
	c := p.cluster
	all := c.waiting.queues()
	for len(all) > 0 {
		q := all[0]
		var target int32
		var ok bool
		if b := &q.pods[0]; c.moved(q) {
			target, ok = c.filters.Best(&b.spec.Spec, b.key.Namespace)
		} else {
			target, ok = c.filters.BestImproved(improved, &b.spec.Spec, b.key.Namespace)
		}
		if !ok {
			full[q.Alike], q.state = true, c.filters.StateOf(&q.pods[0].spec.Spec)
			all = all[1:]
			continue
		}
		b := q.pods[0]
		all = c.waiting.served(all)
		p.place(b, target)
	}
}

// place binds a pod to a node. A pod of a StatefulSet keeps its name; any other replacement gets a new one.
func (p *player) place(b comeback, target int32) {
	c := p.cluster
	own := b.fresh || b.named != "" || b.spec.returns() == whenGone
	key := b.key
	key.Name = cmp.Or(b.named, key.Name)
	for taken := !own; taken; {
		key.Name = successor(key.Name)
		taken = c.holds(key.Namespace, key.Name)
	}
	n := &c.nodes[target]
	c.misses(b.spec, -1)
	fresh := c.newPod(b.spec, b.member, n)
	begins := c.readyAfter > 0 && !fresh.unstarted
	if begins {
		fresh.ready, fresh.unstarted = false, true
	}
	delete(c.unboundKeys, b.key)
	if err := c.addPod(c.id(key), fresh, n.Name); err != nil {
		return // another pod has its name
	}
	if begins {
		c.begins(c.podByID[c.id(key)])
	}
	l := timeline.Line{T: c.Clock.Elapsed(), Kind: timeline.KindSchedule, Node: n.Name, Pod: joinPodName(key.Namespace, key.Name)}
	if b.fresh {
		c.tellPod(n.Name, key, "is scheduled")
		p.line(l)
		return
	}
	c.stats.ReturnedPods++
	if c.happened != nil {
		c.happened(Happening{At: c.Clock.Elapsed(), Node: n.Name, Pod: key, Was: b.key, Text: fmt.Sprintf("pod %s replaces %s, which was deleted at %s", key, b.key, time.Duration(b.at))})
	}
	l.More = timeline.Fields{"was": joinPodName(b.key.Namespace, b.key.Name)}.String()
	p.line(l)
}

// successor returns the name under which an evicted pod comes back.
func successor(name string) string {
	if m := reborn.FindStringSubmatchIndex(name); m != nil {
		if n, err := strconv.ParseInt(name[m[2]:m[3]], 10, 63); err == nil {
			return name[:m[0]] + "-r" + strconv.FormatInt(n+1, 10)
		}
	}
	return name + "-r1"
}

var reborn = regexp.MustCompile(`-r([1-9][0-9]*)$`)
