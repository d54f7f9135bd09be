package simulation

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/internal/podgc"
)

// process is something that goes on in the world by itself.
type process struct {
	next func() time.Duration // when it has something to do next; nil if it acts at the instants of others
	turn func(ctx context.Context, at time.Duration) error
}

// processes are all of them, in the order in which they act within an instant. That order is the format's.
func (p *player) processes() []process {
	plain := func(turn func(at time.Duration)) func(context.Context, time.Duration) error {
		return func(_ context.Context, at time.Duration) error { turn(at); return nil }
	}
	may := func(turn func(at time.Duration) error) func(context.Context, time.Duration) error {
		return func(_ context.Context, at time.Duration) error { return turn(at) }
	}
	all := []process{
		{p.nextEvent, may(p.happenings)},
		{p.nextSample, plain(p.drive)},
		{nil, plain(p.renewals)}, // the loop lets those come that nobody waits for
		{p.cluster.NextReport, plain(p.reports)},
		{
			func() time.Duration { p.guard.due = p.nextLook(); return p.guard.due }, // an instant makes none due
			func(ctx context.Context, at time.Duration) error { p.look(ctx, at); return nil },
		},
		{p.leader.next, may(p.elect)},
		{func() time.Duration { return p.writer.sender.Next(p.cluster.Clock.Elapsed()) }, plain(p.writer.sender.Step)},
	}
	if c := p.cluster; c.jobController != nil {
		all = append(all, p.calling(c.jobController), p.calling(c.setController))
	}
	all = append(all, process{p.nextComeback, plain(p.comeBack)}, process{p.nextDrain, plain(p.goOnDraining)}, process{p.nextRoll, may(p.goOnRolling)})
	if !p.cluster.outside.PodGC {
		all = append(all, p.calling(podgc.New(collected{p})))
	}
	return append(all, process{p.nextStep, p.steps})
}

// part is a process that knows nothing of the world but what it declares itself.
type part interface {
	Next(now time.Duration) time.Duration
	Step(now time.Duration)
}

// calling is a part that stands still while the API is down.
func (p *player) calling(of part) process {
	return process{
		func() time.Duration {
			if p.stalled() {
				return never
			}
			return of.Next(p.cluster.Clock.Elapsed())
		},
		func(_ context.Context, at time.Duration) error {
			if !p.stalled() {
				of.Step(at)
			}
			return nil
		},
	}
}

func (p *player) nextEvent() time.Duration {
	if len(p.events) == 0 {
		return never
	}
	return p.events[0].At
}

func (p *player) nextSample() time.Duration {
	next := never
	for i := range p.traces {
		if p.traces[i].at >= 0 {
			next = min(next, p.traces[i].at)
		}
	}
	return next
}

func (p *player) nextStep() time.Duration {
	if p.next.IsZero() {
		return never
	}
	return p.next.Sub(Epoch)
}

func (p *player) drive(at time.Duration) {
	for i := range p.traces {
		p.traces[i].drive(p, at)
	}
}

func (p *player) reports(at time.Duration) {
	for p.cluster.NextReport() <= at {
		p.cluster.Report()
	}
}

// elect lets leadership change. New controllers start if it does, or if an event says so.
func (p *player) elect(at time.Duration) error {
	restarts := p.restarts
	p.restarts = false
	if p.leader.elect(p, at) || restarts && !(p.leader.vacant && p.leader.process) {
		return p.restart()
	}
	return nil
}

// restart starts new controllers, which know nothing.
func (p *player) restart() error {
	p.cluster.held = nil // who begins to watch now has read the leases
	p.world = &World{player: p}
	p.guard = newGuard(p.scenario.Config.Nodes.NodeMonitorGracePeriod, p.cluster.Clock.Elapsed())
	p.cluster.advanced = p.cluster.now()
	p.leader.restarted(p)
	p.cluster.world = p.world
	p.cluster.forgetHindrances()
	return p.world.begin(p.starts)
}
