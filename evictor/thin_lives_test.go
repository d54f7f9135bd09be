//go:build thin

package evictor_test

import (
	"slices"

	"github.com/evictkit/evictkit/evictor"
)

// What is not in the halves is on their seams.
func init() {
	livesLeaveOut = func(p *livesPlan) {
		p.Dry, p.Confirms, p.Announced, p.MaxFailed, p.MaxMarked, p.Gang, p.livesBudget = false, false, false, 0, 0, 0, livesBudget{}
		if p.Half != evictor.Both {
			p.Half = evictor.Both
		}
		p.Policy = false // it speaks of what is pending, too
		p.Events = slices.DeleteFunc(p.Events, func(e livesEvent) bool { return e.kind == "announce" || e.kind == "deafen" })
	}
}
