//go:build !thin

package evictor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/timedworker"
)

// Confirmer says whether a silent node is alive, before its verdict becomes Unknown: heartbeats may have got lost on
// their way. The Confirmer of package clientgo reads the node's lease from the API server. Others may ask a BMC or a
// hypervisor.
type Confirmer interface {
	// Confirm answers for one node. The evictor calls it with nothing locked, and under Run from up to Config.NodeWorkers
	// goroutines at once, in the order in which the nodes' grace periods ended. An error counts as Unanswered and says
	// why. Confirm must return when the context ends, and should give up before a grace period has passed.
	Confirm(ctx context.Context, suspect Suspect) (Answer, error)
}

// ConfirmFunc is a function that is a Confirmer.
type ConfirmFunc func(ctx context.Context, suspect Suspect) (Answer, error)

// Confirm calls the function.
func (f ConfirmFunc) Confirm(ctx context.Context, suspect Suspect) (Answer, error) {
	return f(ctx, suspect)
}

// Suspect is a node that has been silent for its grace period. Its verdict stays as it was until a Confirmer answers.
type Suspect struct {
	Node string
	UID  types.UID
	// Due is when its grace period ended, by the evictor's clock.
	Due time.Time
	// Waiting is how many suspects wait for an answer now, this one included. If there are many, one question about all of
	// them may be cheaper.
	Waiting int
	// Lease takes the node's lease as the Confirmer has just read it, notes it as LeaseObserved does, and returns the
	// answer that follows: Alive if the lease is a sign of life, Silent if the evictor knew it already.
	Lease func(renewTime time.Time, resourceVersion string) Answer
}

// Answer says whether a silent node is alive: [Alive], [Silent] or, if nobody knows, [Unanswered].
type Answer uint8

// The answers.
const (
	// Unanswered: nobody knows. The node stays a suspect, which counts in its domain and in the budget as before. The
	// evictor asks again with backoff, from Config.RetryInitial to Config.RetryMax, or as soon as the API server answers
	// again if the API server had not answered.
	Unanswered Answer = iota
	// Alive: it counts as a heartbeat now.
	Alive
	// Silent: its verdict becomes Unknown.
	Silent
)

// String returns the name of the constant.
func (a Answer) String() string {
	if names := [...]string{"Unanswered", "Alive", "Silent"}; int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("Answer(%d)", uint8(a))
}

// conclude ends the passes that found suspects: the verdicts of those of which the answer is Silent fall, and zones are
// evaluated.
func (e *engine) conclude() {
	if at, some := e.concludeAt(); !some || e.read.Before(at) {
		return
	}
	names := e.silent
	e.silent, e.awaitsSince = nil, time.Time{}
	slices.Sort(names)
	others := e.attention // they wait for a pass
	e.attention = make(map[string]*record)
	defer func() { maps.Copy(e.attention, others) }()
	for _, name := range names {
		s, rec := e.suspects[name], e.records[name]
		if s == nil || !s.silent || rec == nil {
			continue
		}
		e.unsuspect(name)
		if v, ok := e.monitor.ConfirmAt(s.verdict, e.read); ok {
			e.judged(rec, v)
		}
	}
	e.follow(false)
}

// confirm is the work of Evictor.asks: it asks about one suspect.
func (e *Evictor) confirm(ctx context.Context, w nodeWork) (result timedworker.Result) {
	name := w.Key
	suspect, s := e.question(name)
	if s == nil {
		return timedworker.Forget()
	}
	var answer Answer
	err := errEnded // and stays so if the Confirmer ends the goroutine
	defer func() {
		if s.failing { // so it is the API server that answers now; another Confirmer's answer says nothing of it
			err = e.answered(err)
		}
		result = e.confirmed(ctx, suspect, s, answer, err)
		if err == nil && answer == Alive {
			e.heard(name)
		}
		result = e.told(task{node: name, ask: true}, result)
	}()
	err = e.opts.guarded(name, func() (err error) {
		answer, err = e.clients.Confirmer.Confirm(ctx, suspect)
		return err
	})
	return result
}

// question returns the question about a node, or nil if it is no suspect any more or nothing follows from an answer now.
func (e *Evictor) question(name string) (suspect Suspect, s *suspicion) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	s = e.suspects[name]
	if v, ok := e.monitor.Verdict(name); s == nil || s.silent || !ok || !v.Suspect || e.gates.Observer() != nil {
		return suspect, nil
	}
	return Suspect{
		Node: name, UID: s.verdict.UID, Due: s.due(), Waiting: max(1, len(e.suspects)-len(e.silent)),
		Lease: func(renewTime time.Time, resourceVersion string) Answer {
			if e.monitor.ObserveLease(name, renewTime, resourceVersion) {
				return Alive
			}
			return Silent
		},
	}, s
}

// confirmed records an answer and says when to ask again, if at all.
func (e *Evictor) confirmed(ctx context.Context, suspect Suspect, s *suspicion, answer Answer, err error) timedworker.Result {
	var next time.Duration
	if ctx.Err() == nil && outage.Failing(err) {
		next = e.waits.UntilProbe()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	s.failing = next > 0
	if e.suspects[suspect.Node] != s {
		next = 0
	} else if ctx.Err() == nil {
		e.asked(s)
	}
	e.tried(task{node: suspect.Node, ask: true}, next)
	if !e.awaitsSince.IsZero() && e.unasked == 0 {
		e.inbox.Kick()
	}
	d := Decision{Node: suspect.Node, Silence: e.read.Sub(s.verdict.LastBeat), Grace: s.verdict.Grace}
	switch {
	case e.suspects[suspect.Node] != s: // it is no suspect any more, or one anew
	case err == nil && answer == Silent:
		e.awaitsSince = cmp.Or(e.awaitsSince, e.now)
		s.silent = true
		if e.silent = append(e.silent, suspect.Node); len(e.silent) == 1 || e.unasked == 0 {
			e.inbox.Kick()
		}
	case err == nil && answer == Alive:
		e.monitor.ReviveAt(s.verdict, e.read) // unless Suspect.Lease has
		delete(e.suspects, suspect.Node)
		d.Kind = SuspectAlive
		e.decide(d)
	case ctx.Err() != nil: // asked again by the next Run
		return timedworker.Retry(nil)
	default:
		err = cmp.Or(err, errUnanswered)
		if s.err == nil || s.err.Error() != err.Error() {
			d.Kind, d.Err = SuspectUnanswered, err
			e.decide(d)
		}
		s.err = err
		return timedworker.Retry(nil)
	}
	return timedworker.Forget()
}

var errUnanswered = errors.New("nobody knows whether it is alive")
