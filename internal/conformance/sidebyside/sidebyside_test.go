package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// Every pair runs at a small size. Times mean nothing here, but allocations do.
func TestEveryPairRunsAndOursAllocatesLess(t *testing.T) {
	var out strings.Builder
	rows := table(&out, setting{T: t, runs: 2, batch: 5 * time.Millisecond}, []int{60}, regexp.MustCompile(""))
	t.Log("\n" + out.String())
	for _, r := range rows {
		if figures := r.larger(); figures != nil {
			t.Errorf("behind in %s: %s", strings.Join(figures, ", "), r)
		}
	}
}
