// Package sighting decides whether the watch of leases still shows what happens. When no lease was seen to advance for a while,
// some are read. If they stand still there, too, their nodes do. If one has advanced unseen, and the watch does not show that at
// the next look either, the watch is at fault.
//
//	watch := sighting.Watch{Silence: 20 * time.Second}
//	… // every watch.Every()
//	why = watch.Look(ctx, sighting.Facts{Quiet: now.Sub(advanced), Told: why}, leases)
package sighting

import (
	"context"
	"fmt"
	"time"
)

// A look reads some leases, beginning with those renewed last, because their nodes were alive last. It goes on past leases that
// are gone and nodes that failed when the watch did: these say nothing about the watch.
const (
	probed = 3  // leases read
	tried  = 16 // leases asked for, those that are gone included
)

// Renewal is one of a node's lease; the zero Renewal is none.
type Renewal struct {
	Node string
	At   time.Time
}

// Leases are what is known of them, and how they are read.
type Leases interface {
	// LastShown names so many leases, as the watch shows them, the last renewed first, starting at a position and wrapping around.
	LastShown(from, n int) []string
	// Read returns when the node's lease was renewed, the zero time if there is none.
	Read(ctx context.Context, node string) (time.Time, error)
	// Shows says whether the watch shows this renewal, or a later one.
	Shows(r Renewal) bool
}

// Facts are what is known at a look.
type Facts struct {
	Quiet time.Duration // since a lease was last seen to advance
	Slept bool          // the process was suspended, so that what it saw before says nothing
	Told  error         // what was found before
}

// Watch remembers what looks have found. It is not safe for concurrent use.
type Watch struct {
	Silence time.Duration // how long no lease may be seen to advance until a look reads some

	next   int     // the first lease to read at the next look
	unseen Renewal // that was read, and not shown
}

// Every is the time between two looks.
func (w *Watch) Every() time.Duration { return max(w.Silence/8, time.Millisecond) }

// Patience is how long a look may wait for answers.
func (w *Watch) Patience() time.Duration { return w.Silence / 2 }

// Look returns why the cluster cannot be seen, nil if it can. What was found before still holds while the watch may be about to
// show what was read. It reads leases only if none has advanced for the silence, or after a sleep.
func (w *Watch) Look(ctx context.Context, f Facts, leases Leases) error {
	if f.Quiet < w.Silence && !f.Slept {
		w.next, w.unseen = 0, Renewal{}
		return nil
	}
	was, quiet := w.unseen, f.Quiet.Round(time.Second)
	live, err := w.probe(ctx, leases)
	if err != nil {
		return fmt.Errorf("no lease has advanced for %s, and none can be read: %w", quiet, err)
	}
	w.unseen = live
	switch {
	case live.Node == "":
		return nil
	case was.Node != "" && !leases.Shows(was):
		return fmt.Errorf("the watch of leases has stood still for %s: node %s renewed its lease unseen", quiet, was.Node)
	}
	return f.Told
}

// probe reads a few leases, and returns a renewal that is not shown, if any. It begins with the node of the one that was not shown
// before.
func (w *Watch) probe(ctx context.Context, leases Leases) (Renewal, error) {
	nodes, read := leases.LastShown(w.next, tried), 0
	if w.unseen.Node != "" {
		nodes = append([]string{w.unseen.Node}, nodes...)
	}
	for _, node := range nodes {
		w.next++
		at, err := leases.Read(ctx, node)
		live := Renewal{node, at}
		switch {
		case err != nil:
			return Renewal{}, err
		case at.IsZero():
			continue
		case !leases.Shows(live):
			return live, nil
		}
		if read++; read == probed {
			return Renewal{}, nil
		}
	}
	return Renewal{}, nil
}
