package evictor

// complete says whether the stores are synced and the evictor is fed; before that, silence would pass for failure. A
// decision is reported when something is first missing and when nothing is any more. Called without e.mu.
func (e *Evictor) complete() bool {
	missing := e.missing()
	e.mu.Lock()
	defer e.mu.Unlock()
	if (missing == "") != (e.awaited == "") {
		e.tick()
		e.decide(Decision{Kind: Awaiting, Reason: missing})
	}
	e.awaited = missing
	return missing == ""
}

// missing says in words what the evictor waits for; empty means nothing. It asks the stores, so it is called without
// e.mu.
func (e *Evictor) missing() string {
	if e.clients.Nodes.Synced() {
		if e.source == nil && !e.inbox.Fed() {
			for range e.clients.Nodes.Nodes {
				return "the program to feed it: NodeChanged, PodChanged and LeaseRenewed, or a Source"
			}
		}
		return ""
	}
	if e.source != nil {
		if what := e.source.Awaits(); what != "" {
			return what
		}
	}
	return "the store to be synced"
}
