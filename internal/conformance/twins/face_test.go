package twins

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/internal/outside"
)

// face shows a World to clients as an API server, and is its scheduler. The World knows nodes, and the pods that are on one;
// the store knows everything else, and the fields of pods that the World does not have.
type face struct {
	*store
	world   *simulation.World
	clients evictor.Clients
	parts   *outside.Parts
	clock   *clock
	delay   time.Duration // of the scheduler

	waits map[types.UID]wait
	calls []call
}

// call is a reason for a controller to make a pod: one was lost, or, where one is made after the other, the one before is there.
type call struct {
	at  time.Time
	of  string // what the new pod is known by; empty once it is made
	pod string // that was lost, or is there
}

// wait is that of a pod for the scheduler.
type wait struct {
	since   time.Time
	ordered bool
	rank    int
}

// compare gives the order in which the World places pods of one instant: that in which they could be replaced. Sets that make
// one pod after the other come to it last.
func (w wait) compare(other wait) int {
	last := func(w wait) int {
		if w.ordered {
			return 1
		}
		return 0
	}
	return cmp.Or(w.since.Compare(other.since), cmp.Compare(last(w), last(other)), cmp.Compare(w.rank, other.rank))
}

func newFace(w *simulation.World, parts *outside.Parts, c *clock, delay time.Duration) *face {
	f := &face{store: newStore(&c.mu, w.Clock().Now), world: w, clients: w.Clients(), parts: parts, clock: c, delay: delay, waits: make(map[types.UID]wait)}
	f.deletes, f.created, f.lost, f.touched = f.delete, f.queue, f.loses, c.touch
	return f
}

// queue lets a new pod wait for the scheduler. If its controller leaves the name to the API server, it gets the one that the
// World would give it, so that both sides name pods alike.
func (f *face) queue(pod *v1.Pod, named bool) {
	w := wait{f.now().Truncate(grain), f.ordered(pod), len(f.calls)}
	i := slices.IndexFunc(f.calls, func(c call) bool {
		return c.of == f.knownBy(pod) && (!w.ordered || c.at.Equal(w.since))
	})
	if i >= 0 {
		w.rank = i
	}
	if i >= 0 && !w.ordered {
		f.calls[i].of = ""
		if !named {
			f.rename(pod, f.calls[i].pod)
		}
	}
	f.waits[pod.UID] = w
}

// rename names a pod <lost>-r1, or -r2 after that, and so on.
func (f *face) rename(pod *v1.Pod, lost string) {
	base, number, _ := strings.Cut(lost, "-r")
	n, _ := strconv.Atoi(number)
	for taken := true; taken; taken = f.pod(keyOf(pod.Namespace, pod.Name)) != nil {
		n++
		pod.Name = fmt.Sprintf("%s-r%d", base, n)
	}
}

// loses calls for the successor of a pod whose deletion begins, unless that comes when the pod is gone.
func (f *face) loses(pod *v1.Pod) {
	if !f.whenGone(pod) {
		f.call(pod)
	}
}

func (f *face) call(pod *v1.Pod) {
	f.calls = append(f.calls, call{f.now().Truncate(grain), f.knownBy(pod), pod.Name})
}

// knownBy is the name of a pod that comes back under its own, the index of one that has one, and else the workload.
func (f *face) knownBy(pod *v1.Pod) string {
	of := workloadOf(pod)
	if index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; index != "" {
		return of + "/" + index
	}
	if strings.HasPrefix(of, "StatefulSet") && !f.ordered(pod) {
		return of + "/" + pod.Name
	}
	return of
}

// whenGone says whether a pod is replaced when it is gone, and not when its deletion begins.
func (f *face) whenGone(pod *v1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" {
		return owner != nil && owner.Kind == "StatefulSet"
	}
	job, ok := f.kind("jobs").objects[keyOf(pod.Namespace, owner.Name)].(*batchv1.Job)
	return ok && job.Spec.PodReplacementPolicy != nil && *job.Spec.PodReplacementPolicy == batchv1.Failed
}

// ordered says whether a pod is of a set that makes one after the other.
func (f *face) ordered(pod *v1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return false
	}
	set, ok := f.kind("statefulsets").objects[keyOf(pod.Namespace, owner.Name)].(*appsv1.StatefulSet)
	return ok && owner.Kind == "StatefulSet" && set.Spec.PodManagementPolicy == appsv1.OrderedReadyPodManagement
}

// Step schedules.
func (f *face) Step(context.Context) (next time.Time, err error) {
	f.clock.seen()
	var due []*v1.Pod
	for _, o := range f.kind("pods").objects {
		pod, _ := o.(*v1.Pod)
		w, waits := f.waits[pod.UID]
		if at := w.since.Add(f.delay); !waits || pod.DeletionTimestamp != nil {
			continue
		} else if !at.After(f.now()) {
			due = append(due, pod)
		} else if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	slices.SortFunc(due, func(a, b *v1.Pod) int {
		return cmp.Or(f.waits[a.UID].compare(f.waits[b.UID]), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range due {
		if _, best := f.world.Feasible(pod); best != "" {
			delete(f.waits, pod.UID)
			if err := f.parts.Bind(pod, best); err != nil {
				return next, err
			}
		}
	}
	return next, nil
}

// NodeChanged shows the current node.
func (f *face) NodeChanged(name string) {
	if n, ok := f.clients.Nodes.Node(name); ok {
		f.put("nodes", name, n.DeepCopy())
	} else {
		f.put("nodes", name, nil)
	}
}

// PodChanged shows the current pod.
func (f *face) PodChanged(key evictor.PodKey) {
	k := key.String()
	stored := f.pod(k)
	now, on := f.clients.Pods.Pod(key)
	switch {
	case !on && (stored == nil || stored.Spec.NodeName == ""):
	case !on:
		if f.whenGone(stored) || stored.DeletionTimestamp == nil {
			f.call(stored)
		}
		f.vanish("pods", k)
	case stored == nil:
		f.put("pods", k, now.DeepCopy())
	default:
		if stored.Spec.NodeName == "" && f.ordered(stored) {
			f.call(stored)
		}
		merged := stored.DeepCopy()
		merged.Spec.NodeName, merged.Status.Phase, merged.Status.StartTime = now.Spec.NodeName, now.Status.Phase, now.Status.StartTime
		if now.DeletionTimestamp != nil && stored.DeletionTimestamp == nil {
			merged.DeletionTimestamp = now.DeletionTimestamp.DeepCopy()
			f.loses(stored)
		}
		setReady(merged, isReady(now), f.stamp())
		f.put("pods", k, merged)
	}
}

// LeaseObserved does nothing: none of these controllers reads leases.
func (f *face) LeaseObserved(string, time.Time, string) {}

// SetObserverHealth does nothing.
func (f *face) SetObserverHealth(error) {}

// delete deletes a pod of the World.
func (f *face) delete(key string, grace *int64) (bool, error) {
	namespace, name, _ := strings.Cut(key, "/")
	if _, held := f.clients.Pods.Pod(evictor.PodKey{Namespace: namespace, Name: name}); !held {
		return false, nil
	}
	if grace != nil && *grace == 0 {
		return true, f.world.Do(simulation.Event{ForceDelete: &simulation.Pod{Name: key}})
	}
	return true, f.world.Do(simulation.Event{DeletePod: &simulation.Pod{Name: key}})
}

// clock is that of the bubble. While the World waits in SetTime, virtual time passes and the others run. It wakes as soon as
// one of them has written.
type clock struct {
	mu    sync.Mutex // of the World and the store
	wake  chan struct{}
	dirty bool
}

func newClock() *clock { return &clock{wake: make(chan struct{}, 1)} }

// touch wakes the World, and seen lets it go on. The lock must be held.
func (c *clock) touch() {
	if !c.dirty {
		c.dirty = true
		c.wake <- struct{}{}
	}
}

func (c *clock) seen() {
	if c.dirty {
		c.dirty = false
		select {
		case <-c.wake:
		default:
		}
	}
}

// Now is the time in the bubble.
func (c *clock) Now() time.Time { return time.Now() }

// Since is the time from then to now.
func (c *clock) Since(t time.Time) time.Duration { return time.Since(t) }

// SetTime waits, with the lock released: who sleeps with a lock that others wait for stops time for ever.
func (c *clock) SetTime(t time.Time) {
	d := time.Until(t)
	if c.dirty || d <= 0 {
		return
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.wake:
	}
	synctest.Wait() // until the others have done what they do at this instant
}

// sleep lets time pass in a bubble of synctest, in which all of this runs.
func sleep(d time.Duration) { time.Sleep(d) }
