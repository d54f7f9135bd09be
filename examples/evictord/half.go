package main

import (
	"errors"
	"slices"

	"github.com/evictkit/evictkit/evictor"
)

// half is the value of the flag --half.
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

// evicts says whether the rate of failed nodes determines how many pods are evicted.
func evicts(c evictor.Config) bool { return c.Half == evictor.Both || !c.TaintBasedEviction }

// watched is the half that permissions and watches are needed for. Without taints the lifecycle half deletes pods, so it
// needs both.
func watched(c evictor.Config) evictor.Half {
	if c.Half == evictor.Lifecycle && !c.TaintBasedEviction {
		return evictor.Both
	}
	return c.Half
}
