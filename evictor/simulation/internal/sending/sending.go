// Package sending plays how long a controller's writes take until they take effect: its clients have limits, and the API may be
// slow.
package sending

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const never = time.Duration(math.MaxInt64)

// Kinds of writes. Each has its own workers, and there are as many in flight as there are workers; others wait.
const (
	OfNode = iota
	OfPod
	kinds
)

// Clients of the controllers. Each has its own limit.
const (
	Nodes     = iota // conditions, taints, labels and marks
	Evictions        // evictions
	clients
)

// Write is a call of a controller.
type Write struct {
	Kind, Client int
	To           any  // a node or a pod, and what of it; comparable
	After        bool // it adds to an earlier one of the same kind to the object, and does not replace it
	Do           func()
}

// Sender sends the controllers' writes.
type Sender struct {
	Latency time.Duration // after which a write takes effect
	clients [clients]paced
	flying  []flying // in order
	free    [kinds][]time.Duration
	at      [kinds]int
}

// flying is a write that takes effect at its end, on what exists then.
type flying struct {
	at time.Duration
	do func()
}

// New returns a Sender whose clients have that limit each, none if qps is 0, for controllers with so many workers of each kind.
func New(qps float64, burst int, workers [kinds]int) *Sender {
	s := new(Sender)
	for i := range s.clients {
		s.clients[i] = paced{pace: newPace(qps, burst), usual: newPace(usualQPS, UsualBurst), waiting: make(map[any]*Write)}
	}
	for kind, n := range workers {
		s.free[kind] = make([]time.Duration, n)
	}
	return s
}

// Longest returns how long a write would have had to wait with the usual limit.
func (s *Sender) Longest() time.Duration {
	return max(s.clients[Nodes].longest, s.clients[Evictions].longest)
}

// Send makes a write at once, unless its client has reached its limit or the API is slow.
func (s *Sender) Send(now time.Duration, w Write) {
	client := &s.clients[w.Client]
	client.note(now)
	if client.every == 0 {
		s.send(now, &w)
		return
	}
	client.wait(w)
	s.sendDue(now)
}

// sendDue sends the writes that the clients' limits let go now.
func (s *Sender) sendDue(now time.Duration) {
	for i := range s.clients {
		for w := s.clients[i].send(now); w != nil; w = s.clients[i].send(now) {
			s.send(now, w)
		}
	}
}

// send makes a write at once unless the API is slow.
func (s *Sender) send(now time.Duration, w *Write) {
	if s.Latency == 0 {
		w.Do()
		return
	}
	free := &s.free[w.Kind][s.at[w.Kind]]
	s.at[w.Kind] = (s.at[w.Kind] + 1) % len(s.free[w.Kind])
	*free = max(*free, now) + s.Latency
	at, _ := slices.BinarySearchFunc(s.flying, *free, func(f flying, at time.Duration) int { return cmp.Or(cmp.Compare(f.at, at), -1) })
	s.flying = slices.Insert(s.flying, at, flying{*free, w.Do})
}

// Next returns when a write is next sent or takes effect.
func (s *Sender) Next(now time.Duration) time.Duration {
	next := never
	if len(s.flying) > 0 {
		next = s.flying[0].at
	}
	for i := range s.clients {
		next = min(next, s.clients[i].due(now))
	}
	return next
}

// Step sends the writes, and makes those take effect, whose time has come.
func (s *Sender) Step(now time.Duration) {
	s.sendDue(now)
	for len(s.flying) > 0 && s.flying[0].at <= now {
		do := s.flying[0].do
		s.flying = s.flying[1:]
		do()
	}
}
