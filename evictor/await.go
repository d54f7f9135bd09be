//go:build !thin

package evictor

// complete reads the clock and says whether the stores are synced and the evictor is fed; before that, silence would
// pass for failure. A decision is reported when something is first missing and when nothing is any more. Called without
// e.mu.
func (e *Evictor) complete() bool {
	missing := e.missing()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	if (missing == "") != (e.awaited == "") {
		e.decide(Decision{Kind: Awaiting, Reason: missing})
	}
	e.awaited = missing
	return missing == ""
}

// missing says in words what the evictor waits for; empty means nothing. It asks the stores, so it is called without
// e.mu.
func (e *Evictor) missing() string {
	if e.clients.Nodes.Synced() {
		if e.clients.Source == nil && !e.inbox.Fed() {
			for range e.clients.Nodes.Nodes {
				return "the program to call NodeChanged, PodChanged and LeaseRenewed, or for a Source"
			}
		}
		return ""
	}
	if e.clients.Source != nil {
		if what := e.clients.Source.Awaits(); what != "" {
			return what
		}
	}
	return "the store to be synced"
}
