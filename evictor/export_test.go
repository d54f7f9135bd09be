//go:build !thin

package evictor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evictkit/evictkit/evictor/internal/node"
)

// States checks what is remembered about every node, in each room and across them, and returns each node's state.
func (e *Evictor) States() (states []string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range sortedKeys(e.records) {
		rec := e.records[name]
		if err := errors.Join(rec.Check(), e.across(rec)); err != nil {
			return nil, fmt.Errorf("node %s: %w", name, err)
		}
		states = append(states, rec.String())
	}
	for _, name := range e.turns.AllOverdue() {
		if e.records[name] == nil {
			return nil, fmt.Errorf("node %s: overdue, and gone", name)
		}
	}
	return states, nil
}

// across returns an error if rooms contradict each other about a node. A taint that we wrote and the store does not show counts
// until the next pass after its time is over.
func (e *Evictor) across(rec *record) error {
	failed, turn := rec.Stage() >= node.Early, e.turns.Of(rec.name)
	held := turn != nil && turn.Valid()
	for wrong, kept := range map[string]bool{
		"waits, and has its turn":                    !e.turns.Waits(rec.name) || turn == nil,
		"waits, and has not failed":                  !e.turns.Waits(rec.name) || failed,
		"has its turn, and has not failed":           !held || failed,
		"has a reservation, and no turn":             !rec.allowance.Reserved() || turn != nil,
		"is acted on, and neither tainted nor begun": !rec.allowance.Acting() || rec.Tainted || rec.Begun() || strings.HasSuffix(rec.String(), "unseen"),
		"is being emptied, and has no turn":          rec.Stage() != node.Emptying || turn != nil,
		"has overdue pods, and is well":              !e.turns.IsOverdue(rec.name) || rec.Stage() != node.Calm,
	} {
		if !kept {
			return fmt.Errorf("it %s: %s", wrong, rec.String())
		}
	}
	return nil
}

// Late says whether something is due that Run should have done.
func (e *Evictor) Late() bool {
	_, _, idle := e.planNext()
	return !idle
}
