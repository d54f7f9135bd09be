// Package allowance asks a budget before a failed node is acted on, tells the budget which nodes are acted on and what came
// of it, and asks what becomes of evictions that have begun when a bound is exceeded. It holds no lock. Without a budget
// everything is allowed.
package allowance

import (
	"errors"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/zone"
)

// Budget is what this package uses of a budget.Budget whose members are nodes, by name. It acts under a name that no other
// program uses, but an evictor before may have.
type Budget interface {
	ReserveAt(node string, now time.Time) (budget.Reservation[string], error)
	AdoptAt(node string, began, now time.Time) bool
	EndAt(node string, now time.Time) bool
	JudgeAt(node string, is budget.Outcome, now time.Time) bool
	ExceededAt(node string, now time.Time) *budget.Refusal
	RemoveAt(node string, now time.Time) bool
	Keys() []string
	Unmatched() []string
}

// Allowance is the budget and the nodes that are acted on. Make one with New.
type Allowance struct {
	budget   Budget
	pending  func(*budget.Refusal) zone.Pending
	interval time.Duration
	alarm    time.Duration
	acting   map[*Node]struct{}
	again    time.Time // when to Look again, zero for never

	Unmatched []string // the bounds that apply to nobody although there are nodes, as of the last LookUnmatched
}

// New returns an Allowance. The budget may be nil. pending says what becomes of evictions from a node that was acted
// on, while a bound for it is exceeded; nil means that they go on. The interval is how long an answer of Look holds: other
// users of the budget tell nobody what they change. Acting on a node was a false alarm if it is well again that soon after
// its first pod has left.
func New(b Budget, pending func(*budget.Refusal) zone.Pending, interval, falseAlarm time.Duration) *Allowance {
	return &Allowance{budget: b, pending: pending, interval: interval, alarm: falseAlarm, acting: make(map[*Node]struct{})}
}

// Node is what is remembered about a node: its name, and what the budget knows about it.
type Node struct {
	Name    string
	Since   time.Time // when it was acted on, according to its object; zero if unknown
	state   state
	left    time.Time // when its first pod left because it was acted on, in our time; zero if none has
	refused string    // which bound refused it last; empty if none did
}

// Came returns what is remembered about a node that has come. If that was while we watched, no evictor before has acted on
// it, but perhaps on another node of its name: that is over.
func (a *Allowance) Came(name string, watched bool, now time.Time) Node {
	n := Node{Name: name}
	if watched && a.budget != nil {
		a.budget.EndAt(name, now)
		n.state = idle
	}
	return n
}

// state is what the budget knows about an action on the node.
type state uint8

const (
	inherited state = iota // what an evictor before has done to it counts, if anything
	idle
	reserved
	acting
)

// Reserved says whether the budget has a reservation for the node, and Acting whether it knows that the node is acted on.
func (n *Node) Reserved() bool { return n.state == reserved }

// Acting says whether the budget knows that the node is acted on.
func (n *Node) Acting() bool { return n.state == acting }

// Ask asks whether the node may be acted on; the answer holds until Note. first says that the last answer was not a
// refusal by the same bound.
func (a *Allowance) Ask(n *Node, now time.Time) (refused error, first bool) {
	if a.budget == nil || n.state >= reserved {
		return nil, false
	}
	if n.state == inherited { // now it is done anew
		a.budget.EndAt(n.Name, now)
		n.state = idle
	}
	_, err := a.budget.ReserveAt(n.Name, now)
	if err == nil {
		n.state, n.refused = reserved, ""
		return nil, false
	}
	by := err.Error()
	if refusal := (*budget.Refusal)(nil); errors.As(err, &refusal) {
		by = refusal.Bound + "\x00" + refusal.Group // without its figures, which may change
	}
	first, n.refused = by != n.refused, by
	return err, first
}

// Is says how it is with a node.
type Is struct {
	Acted  bool      // it has been acted on
	Turn   bool      // it has a turn in which it may be
	Well   bool      // there is no reason to act on it
	Ours   time.Time // now, in our time
	Unseen bool      // others evict its pods, and PodLeft is not called
}

// Note tells the budget how it is with the node. Once its turn is over, what was reserved for it is given back. What an
// evictor before did under our name is taken over if the object still shows it, and ends once the node is well.
func (a *Allowance) Note(n *Node, is Is, now time.Time) {
	if a.budget == nil {
		return
	}
	if is.Well && n.state != idle {
		a.judge(n, is, now)
	}
	switch {
	case is.Acted && n.state != acting:
		since := n.Since
		if since.IsZero() || n.state == reserved {
			since = now
		}
		if a.budget.AdoptAt(n.Name, since, now) { // false if somebody else acts on it or it is not known yet
			a.begin(n, is)
		}
		if is.Well { // what was known of it is judged; nobody saw when it came back
			a.budget.JudgeAt(n.Name, budget.Inconclusive, now)
		}
	case is.Acted:
	case n.state == acting, n.state == inherited && is.Well, n.state == reserved && !is.Turn:
		a.budget.EndAt(n.Name, now)
		if n.state == acting {
			a.budget.JudgeAt(n.Name, budget.Inconclusive, now) // not judged yet: it was undone, or its taint taken away
		}
		a.end(n)
	}
}

// judge tells trials what came of an act on a node that is well again: a false alarm, or nothing that says whether it was
// one. Nobody saw an act of an evictor before begin, so its first pod counts as having left when we came.
func (a *Allowance) judge(n *Node, is Is, now time.Time) {
	outcome := budget.Inconclusive
	if n.state == inherited || n.state == acting && !n.left.IsZero() && is.Ours.Sub(n.left) <= a.alarm {
		outcome = budget.Failed
	}
	a.budget.JudgeAt(n.Name, outcome, now)
}

// PodLeft says that a pod was evicted because the node was acted on. ours is now, in our time.
func (a *Allowance) PodLeft(n *Node, ours time.Time) {
	if n.left.IsZero() && n.state >= reserved {
		n.left = ours
	}
}

func (a *Allowance) begin(n *Node, is Is) {
	if n.state == inherited || is.Unseen {
		n.left = is.Ours
	}
	n.state, n.refused = acting, ""
	a.acting[n] = struct{}{}
}

func (a *Allowance) end(n *Node) {
	n.state, n.left = idle, time.Time{}
	delete(a.acting, n)
}

// Unasked forgets which bound refused the node, because the node does not wait for a turn any more.
func (a *Allowance) Unasked(n *Node) { n.refused = "" }

// Forget forgets a node that is gone.
func (a *Allowance) Forget(n *Node, now time.Time) {
	if a.budget != nil {
		a.budget.RemoveAt(n.Name, now)
		a.end(n)
	}
}

// ForgetOthers forgets nodes that an evictor before told the budget about, and that are gone by the time we know all.
func (a *Allowance) ForgetOthers(known func(node string) bool, now time.Time) {
	if a.budget == nil {
		return
	}
	for _, node := range a.budget.Keys() {
		if !known(node) {
			a.budget.RemoveAt(node, now)
		}
	}
}

// LookUnmatched updates Unmatched, and says whether it has changed.
func (a *Allowance) LookUnmatched() (changed bool) {
	if a.budget == nil {
		return false
	}
	was := a.Unmatched
	a.Unmatched = a.budget.Unmatched()
	return !slices.Equal(was, a.Unmatched)
}

// Ruling is what becomes of evictions from a node, and the bound that is exceeded, nil for none.
type Ruling struct {
	Node     string
	Pending  zone.Pending
	Exceeded error
}

// Look asks what becomes of evictions from each of the nodes that were acted on. The cost grows with their number.
func (a *Allowance) Look(now time.Time) (rulings []Ruling) {
	if a.pending == nil {
		return nil
	}
	a.again = time.Time{}
	if len(a.acting) > 0 {
		a.again = now.Add(a.interval)
	}
	for n := range a.acting {
		r := Ruling{Node: n.Name}
		if refusal := a.budget.ExceededAt(n.Name, now); refusal != nil {
			r.Exceeded = refusal
			if r.Pending = a.pending(refusal); r.Pending > zone.Cancel {
				r.Pending = zone.Wait
			}
			if at := refusal.Again; at.After(now) && at.Before(a.again) {
				a.again = at
			}
		}
		rulings = append(rulings, r)
	}
	return rulings
}

// Next is when to Look again although nothing is known to have changed; false for never.
func (a *Allowance) Next() (time.Time, bool) { return a.again, !a.again.IsZero() }
