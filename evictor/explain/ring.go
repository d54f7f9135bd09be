package explain

import (
	"strings"
	"sync"

	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

// Ring keeps the last decisions, except that a pass was made and that a turn was served. Make one with New, give it to an
// evictor as an Observer, and ask [Ring.Explain]. Its methods may be called from any goroutine.
type Ring struct {
	mu     sync.Mutex
	size   int
	kept   []Entry // from oldest on, round
	oldest int
	zones  map[string]zone.Key // in which nodes that are known were last
}

// New returns a Ring that keeps so many decisions, each of about 300 bytes. Zero or less keeps none.
func New(size int) *Ring { return &Ring{size: size, zones: make(map[string]zone.Key)} }

// ObserveNode implements evictor.Observer.
func (r *Ring) ObserveNode(d nodelifecycle.Decision) {
	switch {
	case d.Kind == nodelifecycle.Passed, d.Kind == nodelifecycle.TurnEnded && d.Reason == "Served": // its write says so
	default:
		r.add(Node(d))
	}
}

// ObservePod implements evictor.Observer.
func (r *Ring) ObservePod(d tainteviction.Decision) { r.add(Pod(d)) }

func (r *Ring) add(e Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.size <= 0:
		return
	case e.Kind == "NodeRemoved":
		delete(r.zones, e.Node)
	case e.Node != "" && e.zoned:
		r.zones[e.Node] = e.Zone
	}
	if r.repeats(e) {
		return
	}
	if len(r.kept) < r.size {
		r.kept = append(r.kept, e)
	} else {
		r.kept[r.oldest], r.oldest = e, (r.oldest+1)%r.size
	}
}

// repeats counts a delay or a failure that says the same as the last entry about its subject.
func (r *Ring) repeats(e Entry) bool {
	if !e.Problem && e.Kind != "EvictionDelayed" && e.Kind != "PodDelayed" {
		return false
	}
	for i := len(r.kept) - 1; i >= 0; i-- {
		last := &r.kept[(r.oldest+i)%len(r.kept)]
		if last.subject != e.subject {
			continue
		}
		if last.Kind != e.Kind || last.Text != e.Text {
			return false
		}
		last.Times, last.Last = max(last.Times, 1)+1, e.Time
		return true
	}
	return false
}

// Explain returns what was decided about a node, by its name, or about a pod, by namespace/name or name, and about the
// pod's nodes, their zones and everything; oldest first.
func (r *Ring) Explain(key string) (entries []Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	nodes, zones := map[string]bool{key: true}, map[zone.Key]bool{}
	is := func(pod string) bool { return pod == key || pod != "" && strings.HasSuffix(pod, "/"+key) }
	for i := range r.kept {
		if e := &r.kept[i]; e.Node != "" && is(e.Pod) {
			nodes[e.Node] = true
		}
	}
	for node := range nodes {
		if in, known := r.zones[node]; known {
			zones[in] = true
		}
	}
	for i := range r.kept {
		switch e := r.kept[(r.oldest+i)%len(r.kept)]; {
		case e.Pod != "" && !is(e.Pod), e.Node != "" && e.Pod == "" && !nodes[e.Node], e.Node == "" && e.zoned && (!zones[e.Zone] || e.quiet):
		default:
			entries = append(entries, e)
		}
	}
	return entries
}
