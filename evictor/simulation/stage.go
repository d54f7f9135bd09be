package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// stage drives the controllers of a World; the engine sees it as one controller.
type stage World

// NodeChanged, PodChanged and LeaseRenewed pass changes on to the targets.
func (s *stage) NodeChanged(name string) {
	s.changes++
	for _, target := range s.targets {
		target.NodeChanged(name)
	}
}

func (s *stage) PodChanged(key evictor.PodKey) {
	s.changes++
	for _, target := range s.targets {
		target.PodChanged(key)
	}
}

func (s *stage) LeaseRenewed(node string, at time.Time) {
	for _, target := range s.targets {
		target.LeaseObserved(node, at, "")
	}
}

// maxLaps limits how often controllers may react to each other in one step, maxSteps the number of steps at one instant.
const (
	maxLaps  = 1000
	maxSteps = 10_000
)

// Step steps every controller. If another one changes something after a controller's step, that controller is stepped
// again.
func (s *stage) Step(ctx context.Context) (next time.Time, err error) {
	for lap, again := 0, true; again; lap++ {
		if lap == maxLaps {
			return next, fmt.Errorf("at %v the controllers keep undoing each other's changes", s.elapsed())
		}
		again = false
		for i := range s.acting {
			c := &s.acting[i]
			if lap > 0 && c.seen == s.changes {
				continue
			}
			if c.next, err = c.Step(ctx); err != nil {
				return next, fmt.Errorf("controller %d, at %v: %w", i+1, s.elapsed(), err)
			}
			c.seen, again = s.changes, true
		}
	}
	for i := range s.acting {
		if at := s.acting[i].next; next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next, s.stands(next)
}

// stands returns an error if time does not advance because a controller keeps asking to be called at once.
func (s *stage) stands(next time.Time) error {
	now := s.inner.Cluster.Clock.Now()
	if !s.at.Equal(now) {
		s.at, s.steps = now, 0
	}
	if s.steps++; s.steps < maxSteps || next.IsZero() || next.After(now) {
		return nil
	}
	for i := range s.acting {
		if at := s.acting[i].next; !at.IsZero() && !at.After(now) {
			return fmt.Errorf("controller %d, at %v: Step keeps asking to be called again at once", i+1, s.elapsed())
		}
	}
	return nil
}

func (s *stage) elapsed() time.Duration { return s.inner.Cluster.Clock.Elapsed() }
