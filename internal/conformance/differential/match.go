package differential

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Upstream's own randomness: it looks at its queues every 100 ms, at an arbitrary phase, and retries of failed calls
// take milliseconds.
const (
	tick  = 110 * time.Millisecond
	slack = 60 * time.Millisecond
)

// Side says whose line it is.
type Side string

// The sides.
const (
	OursSide     Side = "ours"
	UpstreamSide Side = "upstream"
)

func (s Side) other() Side {
	if s == OursSide {
		return UpstreamSide
	}
	return OursSide
}

// Left is a line without a counterpart on the other side.
type Left struct {
	Side Side
	timeline.Line
}

func (l Left) String() string { return fmt.Sprintf("%-8s %s", l.Side, l.AppendJSON(nil)) }

// identity returns what two equal lines have in common.
func identity(l timeline.Line) timeline.Line {
	l.T, l.Rate, l.Ready, l.NotReady = 0, 0, 0, 0
	return l
}

// taintsFirst sorts lines whose lag others inherit before those.
func taintsFirst(lines []timeline.Line) []timeline.Line {
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b timeline.Line) int {
		return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(rank(a), rank(b)))
	})
	return sorted
}

func rank(l timeline.Line) int {
	if l.Kind == timeline.KindTaint {
		return 0
	}
	return 1
}

// served says whether the line waits for the zone's rate.
func served(l timeline.Line, direct bool) bool {
	if direct {
		return l.Kind == timeline.KindEvict
	}
	return l.Kind == timeline.KindTaint && ownNoExecute(l) && l.Op == timeline.OpAdd
}

// lagAt is how much later than ours upstream served a node at that time.
type lagAt struct{ at, by time.Duration }

// match pairs equal lines at equal instants, and returns the rest in the order of time. Upstream's lag in tainting, a
// tick for each token, carries over to everything that follows from the taint.
//
// late is how much later than the verdict upstream taints: v1.18 does it one pass later. match also returns how often
// that happened, and upstream's lag in each zone.
func match(ours, upstream []timeline.Line, zoneOf map[string]string, bound map[string]time.Duration, late time.Duration, direct bool) (left []Left, later int, lags map[string][]lagAt) {
	lags = map[string][]lagAt{}
	byIdentity := map[timeline.Line][]int{}
	for i, l := range upstream {
		byIdentity[identity(l)] = append(byIdentity[identity(l)], i)
	}
	paired := make([]bool, len(upstream))
	zoneLag, nodeLag, tainted := map[string]time.Duration{}, map[string]time.Duration{}, map[string]time.Duration{} // the last by upstream
	for _, l := range taintsFirst(ours) {
		candidates := byIdentity[identity(l)]
		found := -1
		for _, i := range candidates {
			if paired[i] {
				continue
			}
			lag := upstream[i].T - l.T
			least, most := -slack, slack
			switch {
			case served(l, direct):
				most = max(late, zoneLag[zoneOf[l.Node]]) + 2*tick // its phase, and what float32 makes of the rate
			case l.Kind == timeline.KindEvict || l.Kind == timeline.KindCancel:
				switch follows := upstream[i].T - tainted[l.Node]; {
				case lag <= tick:
					most = tick
				case follows >= 0 && follows <= tick || bound[l.Pod] > tainted[l.Node]-nodeLag[l.Node] && bound[l.Pod] <= tainted[l.Node]: // a pod that came between our taint and upstream's
					most = nodeLag[l.Node] + tick
				default: // it follows from the taint
					least, most = nodeLag[l.Node]-tick, nodeLag[l.Node]+tick
				}
			}
			if lag >= least && lag <= most {
				found = i
				if served(l, direct) {
					nodeLag[l.Node], tainted[l.Node] = lag, upstream[i].T
					if lag != 0 { // a swap waits for no token
						zoneLag[zoneOf[l.Node]] = lag
					}
					lags[zoneOf[l.Node]] = append(lags[zoneOf[l.Node]], lagAt{upstream[i].T, lag})
					if late > 0 && lag >= late-slack {
						later++
					}
				}
				break
			}
		}
		if found < 0 {
			left = append(left, Left{OursSide, l})
			continue
		}
		paired[found] = true
	}
	for i, l := range upstream {
		if !paired[i] {
			left = append(left, Left{UpstreamSide, l})
		}
	}
	return left, later, lags
}
