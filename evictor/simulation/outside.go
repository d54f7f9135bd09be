package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/internal/outside"
)

// others is the world as those see it who play parts of it.
type others struct{ *player }

var _ outside.World = others{}

func keyOfName(name types.NamespacedName) evictor.PodKey {
	return evictor.PodKey{Namespace: inDefault(name.Namespace), Name: name.Name}
}

// Create queues a pod for the scheduler.
func (o others) Create(object *v1.Pod, instead string, since time.Duration, rank int) error {
	c, l := o.cluster, &o.cluster.outside
	key := evictor.PodKey{Namespace: inDefault(object.Namespace), Name: object.Name}
	was := evictor.PodKey{Namespace: key.Namespace, Name: instead}
	b, deleted := l.pods[was]
	i, stays := c.findPod(was)
	switch {
	case !c.replaces:
		return fmt.Errorf("pod %s: nobody schedules pods", key)
	case deleted:
		delete(l.pods, was)
		b.wait = max(0, b.at+b.wait-int64(since))
	case stays && was != key:
		b = comeback{at: int64(since), key: was, named: key.Name, spec: c.pods[i].spec, member: c.pods[i].member, rank: rank}
		if c.pods[i].owed {
			b.at = -1 // when its volume is free
		}
		l.early[was] = b
		return nil
	default:
		spec, member := c.specOf(object)
		claims, _ := placement.ClaimsOf(&object.Spec)
		spec.Needs, _ = c.filters.WithVolumes(spec.Needs, key.Namespace, claims)
		b = comeback{key: key, spec: c.spec(spec), member: member, fresh: true}
		c.misses(b.spec, 1)
		c.leveled(b.member, 1, 0)
	}
	b.at, b.named, b.rank = int64(since), key.Name, rank
	c.waiting.add(b)
	return nil
}

// Withdraw forgets a pod that waits for the scheduler.
func (o others) Withdraw(pod types.NamespacedName) {
	c, key := o.cluster, keyOfName(pod)
	withdrawn := func(b comeback) bool {
		return b.key.Namespace == key.Namespace && cmp.Or(b.named, b.key.Name) == key.Name
	}
	maps.DeleteFunc(c.outside.early, func(_ evictor.PodKey, b comeback) bool { return withdrawn(b) })
	c.forget(func(b comeback) bool {
		if withdrawn(b) && b.fresh {
			c.leveled(b.member, -1, 0)
		}
		return withdrawn(b)
	})
}

// Delete begins a deletion.
func (o others) Delete(pod types.NamespacedName) { o.to(pod, o.cluster.deletePod) }

// ForceDelete removes an object.
func (o others) ForceDelete(pod types.NamespacedName) { o.to(pod, o.cluster.takeAway) }

// Collect removes a pod as garbage.
func (o others) Collect(pod types.NamespacedName) {
	o.to(pod, func(i int32) {
		why := "the node is out of service"
		if o.cluster.nodes[o.cluster.pods[i].node].Deleted {
			why = "the node no longer exists"
		}
		collected(o).Remove(keyOfName(pod), why)
	})
}

// Drained deletes a pod for a drain.
func (o others) Drained(pod types.NamespacedName, force bool) {
	o.to(pod, func(i int32) {
		c, key := o.cluster, keyOfName(pod)
		name := c.nodes[c.pods[i].node].Name
		if d := c.outside.drains[name]; d != nil {
			for k := range d.pods {
				d.pods[k].going = d.pods[k].going || d.pods[k].key == key
			}
		}
		o.drained(name, key, force)
		c.deletePod(i)
	})
}

func (o others) to(pod types.NamespacedName, do func(i int32)) {
	if i, ok := o.cluster.findPod(keyOfName(pod)); ok {
		do(i)
	}
}

// drainOutside cordons a node, and lets others drain it.
func (p *player) drainOutside(n *node, e *Planned) {
	c := p.cluster
	if !n.Unschedulable {
		c.Cordon(n, true)
	}
	d := c.outside.drains[n.Name]
	if d == nil {
		c.tellHappening(n.Name, "the node is drained")
		d = &drain{node: c.nodeByID[n.Name], from: c.Clock.Elapsed()}
		c.outside.drains[n.Name] = d
		p.report.Drains++
	}
	d.by = *e
	c.list(d)
	by := e.Drain
	c.outside.Drain(outside.Drain{
		Node: n.Name, Timeout: by.Timeout, Bare: by.Bare == evictPods, EmptyDir: by.EmptyDir == evictPods, Force: by.Then == thenForce,
	})
}

// inRoll says whether a drain is part of a roll, which the world plays.
func (p *player) inRoll(e *Planned) bool {
	return slices.ContainsFunc(p.rolls, func(r roll) bool { return r.event.Number == e.Number })
}

// DrainEnds records how a drain has ended.
func (o others) DrainEnds(node, how, why string) {
	d := o.cluster.outside.drains[node]
	if d == nil {
		return
	}
	if how != DrainForced {
		delete(o.cluster.outside.drains, node)
	}
	if how == "" {
		return
	}
	for k := range d.pods {
		_, exists := o.cluster.find(&d.pods[k])
		d.pods[k].why, d.pods[k].going = why, d.pods[k].going || !exists
	}
	o.cluster.count(d)
	if refused := o.cluster.refusedByDrain(&o.cluster.nodes[d.node], d.by.Drain); how == DrainRefused && refused.pods > 0 {
		d.left = refused
	}
	o.stuck(d, how)
}

// endOutside records the drains by others that go on at the end of the simulation.
func (p *player) endOutside() {
	for _, name := range slices.Sorted(maps.Keys(p.cluster.outside.drains)) {
		others{p}.DrainEnds(name, DrainUnfinished, "")
	}
}

// JobFails records that a Job has failed: what it lacks is missing, but not lost.
func (o others) JobFails(name types.NamespacedName, count int) {
	c, id := o.cluster, o.cluster.id(keyOfName(name))
	j := c.makeJob(id)
	if j.Ended {
		return
	}
	j.Ended = true
	ofJob := func(b comeback) bool { return c.jobOf(b.spec, c.space(b.key.Namespace)) == j }
	maps.DeleteFunc(c.outside.early, func(_ evictor.PodKey, b comeback) bool { return ofJob(b) })
	for key, b := range c.outside.pods {
		if ofJob(b) {
			delete(c.outside.pods, key)
			c.misses(b.spec, -1)
		}
	}
	c.forget(ofJob)
	failed := FailedJob{NamespacedName: types.NamespacedName{Namespace: c.spaces[id.space], Name: id.name}, At: c.Clock.Elapsed(), Failed: count}
	for i := range j.pods {
		if p := &c.pods[i]; !p.terminating && !p.phase.finished() {
			failed.Deleted++
		}
	}
	c.failedJobs = append(c.failedJobs, failed)
}

// Reach fails while the API is down.
func (o others) Reach() error {
	if o.apiDown {
		return errAPIDown
	}
	return nil
}

// lentTo lets others play their parts of the world, or says what of the scenario they cannot.
func (p *player) lentTo(parts *outside.Parts) error {
	for i := range p.events {
		if d := p.events[i].Drain; d != nil && parts.Drain != nil && !d.waits() {
			return fmt.Errorf("%s: drain: wait: kubectl drain always waits until pods are gone", p.events[i].place())
		}
	}
	parts.World = others{p}
	return nil
}
