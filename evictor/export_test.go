package evictor

import "fmt"

// States checks what is remembered about every node, and returns each node's state.
func (e *Evictor) States() (states []string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range sortedKeys(e.records) {
		rec := e.records[name]
		if err := rec.Check(); err != nil {
			return nil, fmt.Errorf("node %s: %w", name, err)
		}
		states = append(states, rec.String())
	}
	return states, nil
}

// Late says whether something is due that Run should have done.
func (e *Evictor) Late() bool {
	_, _, idle := e.planNext()
	return !idle
}
