package simulation

import (
	"errors"
	"time"
)

// The leader election of evictord and of kube-controller-manager, with their defaults. Retries come on a grid, without
// jitter.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
	// leaseCalls is how long a call for the lease may take.
	leaseCalls = renewDeadline / 2
)

var errNotLeading = errors.New("no replica of the controller leads")

// leader plays the leader election between replicas of the controllers, of which all but one wait. Of a controller such as
// evictord every replica runs all the time, and the leader writes: the next one has seen what the last one saw. A
// process such as kube-controller-manager runs its controllers only while it leads, and ends with its leadership: the
// next one knows nothing.
type leader struct {
	process  bool          // the controllers end with their leadership
	vacant   bool          // nobody leads
	renewed  time.Duration // when the lease was last renewed before the calls for it began to fail
	ends     time.Duration // when the leader loses the lease; never if it renews it
	takes    time.Duration // when the next one takes over; never if that is not known
	released bool          // the leader gave up the lease, so that nobody has to wait for its end
	watched  time.Duration // when those who wait began to watch the lease
}

func newLeader() leader { return leader{ends: never, takes: never} }

// attempt returns the time of the first attempt for the lease at that time or later.
func attempt(at time.Duration) time.Duration {
	at += retryPeriod - 1
	return at - at%retryPeriod
}

// answered says whether calls for the lease succeed.
func (p *player) answered() bool { return !p.apiDown && p.writer.sender.Latency < leaseCalls }

// elects says whether there is a leader election.
func (p *player) elects() bool { return p.playsOutages() && !p.scenario.NoLeaderElection }

// answers takes a change of whether calls for the lease succeed.
func (l *leader) answers(p *player, at time.Duration) {
	switch {
	case !p.elects():
	case l.vacant:
		l.successor(p, at)
	case !p.answered() && l.ends == never:
		l.renewed = max(0, attempt(at)-retryPeriod)
		l.ends = l.renewed + renewDeadline
		if l.process { // client-go counts from the next attempt, evictord from the last renewal
			l.ends += retryPeriod
		}
	case p.answered() && attempt(at) < l.ends:
		l.ends = never
	}
}

// sees takes a change of what the guard says. A replica that does not see the cluster gives up the lease, and does not ask
// for it.
func (l *leader) sees(p *player, at time.Duration) {
	if !p.elects() {
		return
	}
	if l.watched = attempt(at); p.guard.err != nil && !l.vacant {
		l.released = p.answered()
		l.lose(p, "the leader gives up its lease, because it does not see the cluster")
	}
	l.successor(p, at)
}

// restarted takes the start of new controllers: those of a replica that waits begin to watch the lease.
func (l *leader) restarted(p *player) {
	if now := p.cluster.Clock.Elapsed(); l.vacant {
		l.watched = attempt(now)
		l.successor(p, now)
	}
}

// lose ends the leadership.
func (l *leader) lose(p *player, why string) {
	l.vacant, l.ends, l.takes = true, never, never
	p.tellOf("leader election", why)
	for _, c := range p.world.acting {
		if process, ok := c.Controller.(interface{ End() }); ok {
			process.End()
		}
	}
}

// successor decides when the next leader takes over: at the first attempt after the end of the lease that succeeds.
func (l *leader) successor(p *player, at time.Duration) {
	if l.takes = never; !p.answered() || p.guard.err != nil {
		return
	}
	free := max(l.renewed, l.watched) + leaseDuration
	if l.released {
		free = l.watched
	}
	l.takes = attempt(max(at, free))
}

// elect lets the leader lose its lease or the next one take over if it is time. It returns true if a new process must
// start.
func (l *leader) elect(p *player, at time.Duration) (restart bool) {
	if l.ends <= at {
		l.lose(p, "the leader could not renew its lease and stops")
		l.released, l.watched = false, 0
		l.successor(p, at)
	}
	if l.takes > at {
		return false
	}
	l.vacant, l.takes = false, never
	p.tellOf("leader election", "the next leader takes over")
	for _, target := range p.world.targets {
		if waits, ok := target.(interface{ Kick() }); ok {
			waits.Kick()
		}
	}
	return l.process
}

// next returns when it next has something to do.
func (l *leader) next() time.Duration { return min(l.ends, l.takes) }
