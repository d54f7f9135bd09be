package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/zone"
)

// ErrPaused is wrapped by the refusal of a pause.
var ErrPaused = errors.New("paused")

// Class is what a gate stops.
type Class uint8

// The classes. A gate of Harm or Own stops no lifting and no cancelling.
const (
	Write Class = iota + 1 // writes of any kind
	Harm                   // taints and evictions
	Own                    // evictions because of our own taints
)

// Gate is one gate: of a class, and everywhere unless it is of one domain or one node.
type Gate struct {
	Class  Class
	In     bool // of Domain alone
	Domain zone.Key
	Node   string // of this node alone
}

var write, harm = Gate{Class: Write}, Gate{Class: Harm}

// By is who refuses at a gate.
type By uint8

// Those who refuse, the first of whom is named.
const (
	byPause By = iota
	byObserver
	byProgram
	byRuling // the zone policy or the budget
	several
)

// state is what is known about a gate.
type state struct {
	refused [several]error // ready for observers
	until   time.Time      // after a refusal, the program is not asked again before
	pending zone.Pending   // by the ruling

	toldClosed  bool // what Changes last returned
	toldPending zone.Pending
}

func (s *state) err() error { return cmp.Or(s.refused[:]...) }

// Gates are the answers in force. Make them with New.
type Gates struct {
	interval time.Duration
	pauses   []string        // oldest first
	known    map[Gate]*state // only those that somebody refuses, or that Changes has yet to tell open
	touched  map[Gate]bool   // since Changes
	opened   bool            // something may have been permitted since Freed
	waiting  map[place]map[string]bool
}

// New returns Gates that are all open. After a refusal the program is not asked again for the interval.
func New(interval time.Duration) *Gates {
	return &Gates{interval: interval, known: make(map[Gate]*state), touched: make(map[Gate]bool), waiting: make(map[place]map[string]bool)}
}

// Name returns a domain's name for people.
func Name(key zone.Key) string {
	if key == (zone.Key{}) {
		return "nodes without a zone"
	}
	return "zone " + key.String()
}

// Pause refuses Harm until Resume with the same reason. Several pauses may be in force.
func (g *Gates) Pause(reason string) {
	if !slices.Contains(g.pauses, reason) {
		g.pauses = append(g.pauses, reason)
	}
	g.paused()
}

// Resume ends the Pause with that reason. It returns false if there was none.
func (g *Gates) Resume(reason string) bool {
	i := slices.Index(g.pauses, reason)
	if i >= 0 {
		g.pauses = slices.Delete(g.pauses, i, i+1)
	}
	g.paused()
	return i >= 0
}

func (g *Gates) paused() {
	var err error
	if len(g.pauses) > 0 {
		err = fmt.Errorf("%w: %s", ErrPaused, g.pauses[0])
	}
	g.touch(harm).refused[byPause] = err
}

// Paused returns the reasons of the pauses in force, oldest first.
func (g *Gates) Paused() []string { return slices.Clone(g.pauses) }

// SetObserver records why the observer cannot see the cluster, nil if it can, and returns the value before. Harm is
// refused meanwhile. To put err into words is the owner's, which holds a lock: see Blind.
func (g *Gates) SetObserver(err error) (was error) {
	was = g.Observer()
	g.touch(harm).refused[byObserver] = err
	return was
}

// Blind and Named put an error of the program's, which is its code, into the words that observers see. Call them with
// nothing locked.
func Blind(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("observer is not healthy: %w", err)
}

// Named names the domain, if the gate is of one.
func (at Gate) Named(err error) error {
	if err == nil || !at.In {
		return err
	}
	return fmt.Errorf("%s: %w", Name(at.Domain), err)
}

// Observer returns why the observer cannot see the cluster; nil if it can.
func (g *Gates) Observer() error { return g.at(harm).refused[byObserver] }

// Rule records what the zone policy says of evictions by our own taints in a domain.
func (g *Gates) Rule(domain zone.Key, pending zone.Pending) {
	g.rule(In(Own, domain), pending, fmt.Errorf("policy of %s: %s", Name(domain), pending))
}

// Exceed records what becomes of such evictions from one node because of the budget, whose refusal is err.
func (g *Gates) Exceed(node string, pending zone.Pending, err error) {
	g.rule(Gate{Class: Own, Node: node}, pending, err)
}

func (g *Gates) rule(at Gate, pending zone.Pending, err error) {
	s := g.at(at)
	if s.pending != pending {
		s = g.touch(at)
		s.pending = pending
	}
	if pending == zone.GoOn {
		err = nil
	}
	if s != &open {
		s.refused[byRuling] = err
	}
}

// open is a gate that nobody refuses. It is never changed.
var open state

// at returns what is known about the gate, to be read.
func (g *Gates) at(at Gate) *state {
	if s := g.known[at]; s != nil {
		return s
	}
	return &open
}

// touch returns it to be changed.
func (g *Gates) touch(at Gate) *state {
	g.touched[at], g.opened = true, true
	if g.known[at] == nil {
		g.known[at] = new(state)
	}
	return g.known[at]
}

// May returns nil if that is permitted now to the node in its domain, as far as is known, or else why not. It is the one
// list of the gates before an act, the strictest first.
func (g *Gates) May(class Class, domain zone.Key, node string) error {
	if class == Write {
		return g.Refusal(write)
	}
	for _, at := range [...]Gate{harm, In(Harm, domain), In(Own, domain), {Class: Own, Node: node}} {
		if at.Class > class {
			break
		}
		if err := g.Refusal(at); err != nil {
			return err
		}
	}
	return nil
}

// Refusal returns why one gate is closed; nil if it is open.
func (g *Gates) Refusal(at Gate) error { return g.at(at).err() }

// In returns the gate of a class in a domain.
func In(class Class, domain zone.Key) Gate { return Gate{Class: class, In: true, Domain: domain} }

// Pending returns what becomes of evictions by our own taints from the node: the stricter of what the zone policy and the
// budget say.
func (g *Gates) Pending(domain zone.Key, node string) zone.Pending {
	return max(g.at(In(Own, domain)).pending, g.at(Gate{Class: Own, Node: node}).pending)
}
