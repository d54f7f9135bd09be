package simulation

import (
	"cmp"
	"slices"
	"time"
)

// podTimer is when the kubelet of a pod is done with what it does now: the pod has started, or a deleted one has ended.
type podTimer struct {
	at     int64
	pod    int32
	serial uint64
}

// takesTime has the kubelet take that long for what it does with a pod now.
func (c *cluster) takesTime(i int32, took int64) {
	p := &c.pods[i]
	p.until = int64(shift(c.Clock.Elapsed(), time.Duration(took)))
	t := podTimer{p.until, i, p.serial}
	at, _ := slices.BinarySearchFunc(c.podTimers, t, func(a, b podTimer) int { return cmp.Or(cmp.Compare(a.at, b.at), -1) })
	c.podTimers = slices.Insert(c.podTimers, at, t)
}

// nextPodTimer returns when a kubelet is next done with a pod; never if none does anything.
func (c *cluster) nextPodTimer() time.Duration {
	if len(c.podTimers) == 0 {
		return never
	}
	return time.Duration(c.podTimers[0].at)
}

// endsAfter returns how long a deleted pod takes to end on a live node.
func (s *podSpec) endsAfter() int64 { return int64(s.Grace) * int64(time.Second) }
