package simulation

import (
	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/outside"
)

// lent is what a world that others play remembers of pods, so that those that take their places are like them.
type lent struct {
	*outside.Parts
	pods   map[evictor.PodKey]comeback // deleted
	early  map[evictor.PodKey]comeback // created when the deletion of that pod was about to begin, or before its volume was free
	drains map[string]*drain           // that others do, by the node
}

func newLent() lent {
	return lent{new(outside.Parts), make(map[evictor.PodKey]comeback), make(map[evictor.PodKey]comeback), make(map[string]*drain)}
}
