package evictor

// Late says whether something is due that Run should have done.
func (e *Evictor) Late() bool { return e.loop.Late() }
