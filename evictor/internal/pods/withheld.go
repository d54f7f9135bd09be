package pods

import (
	"maps"
	"slices"
	"time"
)

// withheld is the program's refusal to evict a pod. It is kept by slot until the program permits the eviction or the pod is
// gone, also while the pod is forgotten, because a node may be emptied in several turns.
type withheld struct {
	ref    Ref
	by     Delay // MayEvict or, on behalf of a pod that goes with it, Together
	err    error
	text   string    // err in words
	until  time.Time // the program is not asked before
	times  int       // how often in a row it has refused
	told   bool      // it was reported
	outage int       // Node.outage when it was
}

// Withhold records that the program, asked because of Ask, refuses the eviction or that of a pod that goes with it, and when
// to ask it again. text is the error in words: while that stays the same, the refusal is reported only once.
func (p *Pods) Withhold(ev *Eviction, by Delay, err error, text string, until time.Time) {
	ref := ev.Pod()
	if p.known[ref.Key] != ev.pod {
		return // the pod is gone
	}
	w := p.withheld[ref.Key]
	if w == nil {
		w = &withheld{ref: ref}
		p.withheld[ref.Key] = w
	}
	w.told = w.told && w.text == text && w.by == by
	w.by, w.err, w.text, w.until, w.times = by, err, text, until, w.times+1
}

// withholds returns the refusal that holds a pod back now, nil for none.
func (p *Pods) withholds(known *pod, now time.Time) *withheld {
	if w := p.withheld[known.ref.Key]; w != nil && now.Before(w.until) {
		return w
	}
	return nil
}

// tell says whether the refusal is to be reported, and takes it as reported: once in an outage, unless ReportAnew comes
// between.
func (w *withheld) tell(n *Node) (news bool) {
	news = !w.told || w.outage != n.outage
	w.told, w.outage = true, n.outage
	return news
}

// ReportAnew has the program's refusal, if there is one, reported again the next time, because something else was reported
// of the eviction.
func (p *Pods) ReportAnew(key Key) {
	if w := p.withheld[key]; w != nil {
		w.told = false
	}
}

// refusals returns how often in a row the program has refused to evict the pod.
func (p *Pods) refusals(key Key) int {
	if w := p.withheld[key]; w != nil {
		return w.times
	}
	return 0
}

// Refusal returns the program's error if that is what holds the eviction back, or else nil.
func (p *Pods) Refusal(ev *Eviction) error {
	if w := p.withheld[ev.pod.ref.Key]; w != nil && ev.delayed == w.by {
		return w.err
	}
	return nil
}

// AskAgain makes every refusal of the program expire, and has the evictions tried that it holds back. Its cost grows with
// their number.
func (p *Pods) AskAgain() {
	p.Kicks++
	for _, key := range slices.SortedFunc(maps.Keys(p.withheld), Key.compare) {
		w := p.withheld[key]
		w.until = time.Time{}
		if known := p.known[key]; known != nil && known.eviction != nil && known.eviction.delayed == w.by {
			p.todo = append(p.todo, Action{Do: Retry, Pod: known.ref, Eviction: known.eviction})
		}
	}
}
