package twins

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/internal/conformance/controllermanager"
)

// line is something that a side shows.
type line struct {
	at   time.Duration
	what string // bound, deleted, gone; evicted: and the answer; drained: and the end
	of   string // Kind/name of the workload, or bare
	node string
	pod  string
}

// String is for people.
func (l line) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%9v %s %s %s %s", l.at, l.what, l.of, l.pod, l.node)), " ")
}

// recorder writes down what happens to the pods of a World.
type recorder struct {
	world *simulation.World
	pods  evictor.Clients
	known map[evictor.PodKey]*v1.Pod
	lines []line
}

func record(w *simulation.World) (*recorder, error) {
	r := &recorder{world: w, pods: w.Clients(), known: make(map[evictor.PodKey]*v1.Pod)}
	return r, r.pods.Source.Feed(r)
}

// PodChanged compares the pod with what it was.
func (r *recorder) PodChanged(key evictor.PodKey) {
	is, on := r.pods.Pods.Pod(key)
	was := r.known[key]
	if was != nil && (!on || is.UID != was.UID) {
		if was.DeletionTimestamp == nil {
			r.add("deleted", was)
		}
		r.add("gone", was)
		delete(r.known, key)
		was = nil
	}
	if !on {
		return
	}
	is = is.DeepCopy()
	if was == nil {
		r.add("bound", is)
	}
	if is.DeletionTimestamp != nil && (was == nil || was.DeletionTimestamp == nil) {
		r.add("deleted", is)
	}
	r.known[key] = is
}

func (r *recorder) elapsed() time.Duration {
	return r.world.Clock().Since(simulation.Epoch).Truncate(controllermanager.Grain)
}

func (r *recorder) add(what string, pod *v1.Pod) {
	r.lines = append(r.lines, line{r.elapsed(), what, controllermanager.WorkloadOf(pod), pod.Spec.NodeName, pod.Name})
}

// NodeChanged does nothing.
func (r *recorder) NodeChanged(string) {}

// LeaseObserved does nothing.
func (r *recorder) LeaseObserved(string, time.Time, string) {}

// SetObserverHealth does nothing.
func (r *recorder) SetObserverHealth(error) {}

// difference is a line that the other side does not show.
type difference struct {
	line
	ours bool
}

// String is for people.
func (d difference) String() string {
	if d.ours {
		return "ours   " + d.line.String()
	}
	return "theirs " + d.line.String()
}

// pair pairs lines of both sides that say the same at the same time, and returns what is left over in the order of time.
func pair(ours, theirs []line) (left []difference) {
	rest := make(map[line]int)
	for _, their := range theirs {
		rest[their]++
	}
	for _, mine := range ours {
		if rest[mine]--; rest[mine] < 0 {
			left = append(left, difference{mine, true})
		}
	}
	for their, n := range rest {
		for range n {
			left = append(left, difference{their, false})
		}
	}
	slices.SortFunc(left, func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.String(), b.String()))
	})
	return left
}
