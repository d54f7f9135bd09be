package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// nodeChanged and the following pass changes on to the targets.
func (w *World) nodeChanged(name string) {
	w.changes++
	for _, target := range w.targets {
		target.NodeChanged(name)
	}
}

func (w *World) podChanged(key evictor.PodKey) {
	w.changes++
	for _, target := range w.targets {
		target.PodChanged(key)
	}
}

func (w *World) renewed(node string, at time.Time) {
	for _, target := range w.targets {
		target.LeaseObserved(node, at, "")
	}
}

// missed tells of a renewal that the watch loses, or shows later, to a target that is an API server itself.
func (w *World) missed(node string, at time.Time) {
	for _, target := range w.targets {
		if reads, ok := target.(interface{ LeaseMissed(string, time.Time) }); ok {
			reads.LeaseMissed(node, at)
		}
	}
}

// late tells of a renewal of that time that the watch shows now.
func (w *World) late(node string, at time.Time) {
	for _, target := range w.targets {
		if shows, ok := target.(interface{ LeaseShown(string, time.Time) }); ok {
			shows.LeaseShown(node, at)
		} else {
			target.LeaseObserved(node, at, "")
		}
	}
}

// mostTurns limits how often controllers may react to each other in one step, maxSteps the number of steps at one instant.
const (
	mostTurns = 1000
	maxSteps  = 10_000
)

// step steps every controller. If another one changes something after a controller's step, that controller is stepped
// again.
func (w *World) step(ctx context.Context) (next time.Time, err error) {
	reads := w.readLeases(ctx)
	for turn, again := 0, true; again; turn++ {
		if turn == mostTurns {
			return next, fmt.Errorf("at %v the controllers keep undoing each other's changes", w.elapsed())
		}
		again = false
		for i := range w.acting {
			c := &w.acting[i]
			if turn > 0 && c.seen == w.changes {
				continue
			}
			if c.next, err = c.Step(ctx); err != nil {
				return next, fmt.Errorf("controller %d, at %v: %w", i+1, w.elapsed(), err)
			}
			c.seen, again = w.changes, true
		}
	}
	next = reads
	for i := range w.acting {
		if at := w.acting[i].next; next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next, w.stands(next)
}

// stands returns an error if time does not advance because a controller keeps asking to be called at once.
func (w *World) stands(next time.Time) error {
	now := w.player.cluster.Clock.Now()
	if !w.at.Equal(now) {
		w.at, w.steps = now, 0
	}
	if w.steps++; w.steps < maxSteps || next.IsZero() || next.After(now) {
		return nil
	}
	for i := range w.acting {
		if at := w.acting[i].next; !at.IsZero() && !at.After(now) {
			return fmt.Errorf("controller %d, at %v: Step keeps asking to be called again at once", i+1, w.elapsed())
		}
	}
	return nil
}

func (w *World) elapsed() time.Duration { return w.player.cluster.Clock.Elapsed() }

// Next returns when a kubelet next renews its lease or reports its status, since Epoch, and whether it is a report; false
// if no kubelet will. If both come at the same time, the renewal is first.
func (w *World) Next() (at time.Duration, report, ok bool) {
	c := w.player.cluster
	renewal, reports := c.NextRenewal(), c.NextReport()
	at = min(renewal, reports)
	return at, reports < renewal, at < never
}

// Turn makes what Next returned happen. The clock must stand at that time.
func (w *World) Turn() {
	if _, report, ok := w.Next(); report {
		w.player.cluster.Report()
	} else if ok {
		w.player.cluster.Renew()
	}
}
