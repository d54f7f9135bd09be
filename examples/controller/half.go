package main

import (
	"errors"
	"slices"

	"github.com/evictkit/evictkit/evictor"
)

// half is the flag that chooses which halves of the evictor run.
type half evictor.Half

var halves = []string{evictor.Both: "both", evictor.Lifecycle: "lifecycle", evictor.TaintEviction: "taint-eviction"}

// String implements pflag.Value.
func (h *half) String() string { return halves[*h] }

// Set implements pflag.Value.
func (h *half) Set(text string) error {
	i := slices.Index(halves, text)
	if i < 0 {
		return errors.New("must be both, lifecycle or taint-eviction")
	}
	*h = half(i)
	return nil
}

// Type implements pflag.Value.
func (h *half) Type() string { return "string" }

// evicts says whether pods of failed nodes are evicted at the pace of these.
func evicts(c evictor.Config) bool { return c.Half == evictor.Both || !c.TaintBasedEviction }

// watched is the half that the permissions and watches must be for: without taints the lifecycle half deletes pods.
func watched(c evictor.Config) evictor.Half {
	if c.Half == evictor.Lifecycle && !c.TaintBasedEviction {
		return evictor.Both
	}
	return c.Half
}
