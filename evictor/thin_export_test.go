//go:build thin

package evictor

// States has nothing to check here: the halves keep one record a node and one a pod.
func (e *Evictor) States() (states []string, err error) { return nil, nil }

// Late says whether something is due that Run should have done.
func (e *Evictor) Late() bool { return e.late() }
