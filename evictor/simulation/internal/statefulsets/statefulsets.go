// Package statefulsets plays the controller of StatefulSets that make their pods in order: it goes through a set's ordinals, from
// the first that the set wants on, and stops at one whose pod is not Running and Ready.
package statefulsets

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const never = time.Duration(math.MaxInt64)

// Cluster is what the controller sees and does in a cluster, in which it knows a set by its key.
type Cluster[Key comparable, Pod any] interface {
	// First is the first ordinal that a set wants.
	First(set Key) int
	// Stops says whether a set has a pod of that ordinal that is not Ready, or is being deleted. One that has ended does not count:
	// the controller replaces it at once.
	Stops(set Key, ordinal int) bool

	// Create makes a pod, which may have waited for others of its set.
	Create(pod Pod, waited bool)
	// Wait is told once of each pod that waits for the one of another ordinal.
	Wait(pod Pod, set Key, ordinal int)
}

// Controller is the controller of such sets. It is told what happens to pods, as a watch would tell it.
type Controller[Key comparable, Pod any] struct {
	of            Cluster[Key, Pod]
	sets          map[Key]*set[Key, Pod]
	look          []*set[Key, Pod] // that may have a pod to create now
	waiting, most int
}

type set[Key comparable, Pod any] struct {
	key      Key
	ordinals []int       // of the pods on nodes, now or once
	absent   []int       // of the pods that wait: to be created, or for a node
	lost     []lost[Pod] // pods that are not created, by ordinal
	look     bool        // it is in Controller.look
}

type lost[Pod any] struct {
	ordinal int
	pod     Pod
	waits   bool // for another one
}

// New returns the controller of a cluster.
func New[Key comparable, Pod any](of Cluster[Key, Pod]) *Controller[Key, Pod] {
	return &Controller[Key, Pod]{of: of, sets: make(map[Key]*set[Key, Pod])}
}

func (c *Controller[Key, Pod]) set(key Key) *set[Key, Pod] {
	s := c.sets[key]
	if s == nil {
		s = &set[Key, Pod]{key: key}
		c.sets[key] = s
	}
	return s
}

// Bound tells that a pod is on a node now.
func (c *Controller[Key, Pod]) Bound(key Key, ordinal int) {
	s := c.set(key)
	s.ordinals, s.absent = withNumber(s.ordinals, ordinal), withoutNumber(s.absent, ordinal)
}

// Unbound tells that a pod waits for a node.
func (c *Controller[Key, Pod]) Unbound(key Key, ordinal int) {
	s := c.set(key)
	s.absent = withNumber(s.absent, ordinal)
}

// Lost tells that a set lacks a pod.
func (c *Controller[Key, Pod]) Lost(key Key, ordinal int, pod Pod) {
	c.Unbound(key, ordinal)
	s := c.set(key)
	at, _ := slices.BinarySearchFunc(s.lost, ordinal, func(of lost[Pod], ordinal int) int { return cmp.Compare(of.ordinal, ordinal) })
	s.lost = slices.Insert(s.lost, at, lost[Pod]{ordinal: ordinal, pod: pod})
	c.waiting++
	c.Changed(key)
}

// Changed tells that a pod of the set has become Ready, or has ended.
func (c *Controller[Key, Pod]) Changed(key Key) {
	if s := c.set(key); !s.look && len(s.lost) > 0 {
		s.look = true
		c.look = append(c.look, s)
	}
}

// Next returns now, the time since the start, if there may be a pod to create.
func (c *Controller[Key, Pod]) Next(now time.Duration) time.Duration {
	if len(c.look) > 0 {
		return now
	}
	return never
}

// Waiting is how many pods are not created yet, and Most how many were at the worst time. Nobody waits for a controller that is not
// there.
func (c *Controller[Key, Pod]) Waiting() int {
	if c == nil {
		return 0
	}
	return c.waiting
}

// Most is explained with Waiting.
func (c *Controller[Key, Pod]) Most() int {
	if c == nil {
		return 0
	}
	return c.most
}

// Each changes each of the pods that are not created yet.
func (c *Controller[Key, Pod]) Each(change func(pod *Pod)) {
	if c == nil {
		return
	}
	for _, s := range c.sets {
		for i := range s.lost {
			change(&s.lost[i].pod)
		}
	}
}

// Step creates the next pod of each set that may have one: at most one each, because the one after it waits until that is Ready.
func (c *Controller[Key, Pod]) Step(time.Duration) {
	sets := c.look
	c.look = nil
	for _, s := range sets {
		s.look = false
		c.next(s)
	}
	c.most = max(c.most, c.waiting)
}

func (c *Controller[Key, Pod]) next(s *set[Key, Pod]) {
	if len(s.lost) == 0 {
		return
	}
	first := s.lost[0]
	by, stopped := c.stops(s, first.ordinal)
	if !stopped {
		by, s.lost = first.ordinal, s.lost[1:]
		c.waiting--
		c.of.Create(first.pod, first.waits)
	}
	for i := range s.lost {
		if l := &s.lost[i]; !l.waits {
			l.waits = true
			c.of.Wait(l.pod, s.key, by)
		}
	}
}

// stops returns the ordinal for which one waits: the first that is absent, or whose pod stops the set.
func (c *Controller[Key, Pod]) stops(s *set[Key, Pod], ordinal int) (by int, stopped bool) {
	from, _ := slices.BinarySearch(s.ordinals, c.of.First(s.key))
	for _, k := range s.ordinals[from:] {
		if k >= ordinal {
			break
		}
		if c.of.Stops(s.key, k) {
			return k, true
		}
	}
	if len(s.absent) > 0 && s.absent[0] < ordinal {
		return s.absent[0], true
	}
	return 0, false
}

func withNumber(all []int, n int) []int {
	at, found := slices.BinarySearch(all, n)
	if found {
		return all
	}
	return slices.Insert(all, at, n)
}

func withoutNumber(all []int, n int) []int {
	if at, found := slices.BinarySearch(all, n); found {
		return slices.Delete(all, at, at+1)
	}
	return all
}
