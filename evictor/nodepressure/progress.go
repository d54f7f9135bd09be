package nodepressure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/steady"
)

// progress is an eviction in progress: its pods are killed one after the other; then the Manager waits for what they
// used.
type progress struct {
	evictions []Eviction
	soft      bool
	ended     int   // evictions[:ended] are over: the pods are dead, have failed to die, or were given up
	begun     bool  // evictions[ended] has begun
	giveUp    int64 // when it is given up
	kill      *kill // its Kill; nil while an earlier Kill of the same pod has not returned

	cleaning       bool // all evictions are over
	poll, deadline int64
}

// next is when the progress has something to do, at the latest.
func (p *progress) next() int64 {
	if p.cleaning {
		return p.poll
	}
	return p.giveUp
}

// kill is a call of Killer.Kill.
type kill struct {
	eviction Eviction
	stop     context.CancelFunc
	// hanging: the Kill was given up, or another eviction replaced its own. Nothing waits for it any more.
	hanging bool
	done    chan struct{}
	err     error // written before done is closed
}

func (k *kill) returned() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// evict replaces the eviction in progress, if any.
func (m *Manager) evict(evictions []Eviction) {
	if m.progress != nil && m.progress.kill != nil {
		m.progress.kill.stop()
		m.progress.kill.hanging = true
	}
	m.progress = &progress{evictions: evictions, soft: !evictions[0].Hard}
}

// advance continues the eviction in progress and says whether there was anything to do.
func (m *Manager) advance(ctx context.Context, now int64, start func(kill func())) bool {
	p := m.progress
	if p.ended < len(p.evictions) {
		return m.advanceKill(ctx, now, start)
	}
	switch {
	case !p.cleaning:
		p.cleaning = true
		p.deadline = steady.Add(now, m.config.CleanupTimeout)
	case now < p.poll:
		return false
	case m.cleanedUp(p.evictions) || now >= p.deadline:
		m.progress, m.nextPass = nil, now
		return true
	}
	p.poll = min(steady.Add(now, m.config.CleanupPoll), p.deadline)
	return true
}

// advanceKill continues with the first pod that is not over.
func (m *Manager) advanceKill(ctx context.Context, now int64, start func(kill func())) bool {
	p := m.progress
	e := p.evictions[p.ended]
	timeout := killTimeout(e.GracePeriodSeconds)
	if !p.begun {
		p.begun, p.giveUp = true, steady.Add(now, timeout)
	}
	unreturned := m.killing(e.Pod)
	switch {
	case p.kill == nil && unreturned == nil:
		p.giveUp = steady.Add(now, timeout)
		m.startKill(ctx, e, start)
		return true
	case p.kill != nil && p.kill.returned():
	case now >= p.giveUp:
		unreturned.hanging = true
		m.report(&KillError{Eviction: e, Err: fmt.Errorf("%w: given up after %s", ErrKillTimeout, timeout)})
	default:
		return false
	}
	p.ended, p.begun, p.kill = p.ended+1, false, nil
	return true
}

// killTimeout is how long the kubelet waits for a pod to be killed, in whole seconds.
func killTimeout(graceSeconds int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	seconds := max(add(graceSeconds, graceSeconds/2), 10)
	return time.Duration(min(seconds, most)) * time.Second
}

// startKill passes the call of Kill to start and notes it as the progress's kill.
func (m *Manager) startKill(ctx context.Context, e Eviction, start func(kill func())) {
	killing, stop := context.WithCancel(ctx)
	k := &kill{eviction: e, stop: stop, done: make(chan struct{})}
	m.kills = append(m.kills, k)
	m.progress.kill = k
	start(func() {
		defer func() {
			stop()
			close(k.done)
			select {
			case m.ended <- struct{}{}:
			default: // a signal is pending already
			}
		}()
		k.err = errGoexit // and stays so if Kill ends the goroutine
		k.err = guard(func() error { return m.clients.Killer.Kill(killing, e) })
	})
}

var errGoexit = errors.New("runtime.Goexit was called")

// killing returns the Kill of the pod that has not returned, or nil.
func (m *Manager) killing(pod *v1.Pod) *kill {
	for _, k := range m.kills {
		if other := k.eviction.Pod; other.UID == pod.UID && other.Name == pod.Name && other.Namespace == pod.Namespace {
			return k
		}
	}
	return nil
}

// collectKills forgets the Kills that have returned and reports those that failed, in the order in which they began.
func (m *Manager) collectKills() {
	m.kills = slices.DeleteFunc(m.kills, func(k *kill) bool {
		if !k.returned() {
			return false
		}
		if k.err != nil {
			m.report(&KillError{Eviction: k.eviction, Err: k.err})
		}
		return true
	})
}

// stopKills cancels all Kills and waits until they have returned.
func (m *Manager) stopKills() {
	for _, k := range m.kills {
		k.stop()
	}
	for m.collectKills(); len(m.kills) > 0; m.collectKills() {
		<-m.ended
	}
}

func (m *Manager) cleanedUp(evictions []Eviction) bool {
	var clean bool
	err := guard(func() error {
		clean = !slices.ContainsFunc(evictions, func(e Eviction) bool { return !m.clients.Killer.CleanedUp(e.Pod) })
		return nil
	})
	if err != nil {
		m.report(fmt.Errorf("nodepressure: CleanedUp: %w", err))
	}
	return clean
}
