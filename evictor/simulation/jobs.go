package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
)

// jobSpec is what of a Job decides whether its pods come back, and when.
type jobSpec struct {
	// Limit is how many pods may fail. One more, and the Job fails. Negative means no limit.
	Limit int
	// Failed is how many have.
	Failed int
	// OnlyFailed is whether a pod counts as failed, and is replaced, only when it is gone, rather than when its deletion
	// begins.
	OnlyFailed bool
	// Ended is whether the Job is complete, has failed or is suspended, so that its pods do not come back.
	Ended bool
	// Other is whether it has rules for failures that are not simulated. With PerIndex they are about each index by
	// itself, and so is the back-off.
	Other, PerIndex bool
}

// FailedJob is a Job that ended because too many of its pods failed.
type FailedJob struct {
	types.NamespacedName
	At      time.Duration
	Failed  int // pods
	Deleted int // pods that it still had, which its controller deleted
}

type job struct {
	jobSpec
	listed bool            // its object is known
	pods   map[int32]int64 // on nodes, by their numbers: since when each is not Ready, negative if it is
}

// AddJob adds a Job. It fails if the name is taken. Pods of a Job that was not added come back for ever. Call AddJob
// before a simulation.
func (c *cluster) AddJob(namespace, name string, spec jobSpec) error {
	j := c.makeJob(c.id(evictor.PodKey{Namespace: namespace, Name: name}))
	if j.listed {
		return fmt.Errorf("job %s/%s already exists", namespace, name)
	}
	j.jobSpec, j.listed = spec, true
	return nil
}

// makeJob returns a Job. One of which nothing is known but its name may lose any number of pods.
func (c *cluster) makeJob(id podID) *job {
	j := c.jobs[id]
	if j == nil {
		j = &job{jobSpec: jobSpec{Limit: -1}, pods: make(map[int32]int64)}
		c.jobs[id] = j
	}
	return j
}

// jobOf returns the Job that owns pods of a spec in a namespace; nil if none does.
func (c *cluster) jobOf(s *podSpec, space uint32) *job {
	if s.OwnerKind != "Job" {
		return nil
	}
	return c.makeJob(podID{space, s.OwnerName})
}

// noteJobs notes the pods of Jobs that have rules which are not simulated.
func (c *cluster) noteJobs() {
	for i := range c.pods {
		if c.pods[i].node < 0 {
			continue
		}
		if j := c.jobOf(c.pods[i].spec, c.pods[i].id.space); j != nil && j.Other && !j.Ended {
			c.ignore("failure policies of Jobs")
		}
	}
}

// works notes that a pod of a Job was added (+1) or is about to be removed (-1).
func (c *cluster) works(i int32, by int) {
	j := c.jobOf(c.pods[i].spec, c.pods[i].id.space)
	switch {
	case j == nil:
	case by < 0:
		delete(j.pods, i)
	default:
		j.pods[i] = -1
		if p := &c.pods[i]; !p.ready && phases[p.phase] != v1.PodPending {
			j.pods[i] = c.now()
		}
	}
}

// returnsOf is returns, as the pod's Job or StatefulSet wants it.
func (c *cluster) returnsOf(p *pod) returns {
	j := c.jobOf(p.spec, p.id.space)
	switch {
	case j == nil && c.unwanted(p.spec, p.id):
		return notAtAll
	case j == nil:
		return p.spec.returns()
	case j.Ended || p.phase.finished():
		return notAtAll
	case j.OnlyFailed:
		return whenGone
	default:
		return whenDeleted
	}
}

// controlledJob is the Job that a pod belongs to, if its controller cares.
func (c *cluster) controlledJob(i int32) (job podID, ok bool) {
	p := &c.pods[i]
	if c.jobController == nil || p.spec.OwnerKind != "Job" {
		return job, false
	}
	return podID{p.id.space, p.spec.OwnerName}, !c.jobOf(p.spec, p.id.space).Ended
}

// changesJob tells the Job's controller that a pod has changed.
func (c *cluster) changesJob(i int32) {
	if job, ok := c.controlledJob(i); ok {
		c.jobController.Changed(job, c.Clock.Elapsed())
	}
}

// fails tells the Job's controller that a pod has failed.
func (c *cluster) fails(i int32) {
	job, ok := c.controlledJob(i)
	if !ok {
		return
	}
	p, now := &c.pods[i], c.Clock.Elapsed()
	ended := time.Duration(c.jobs[job].pods[i])
	switch {
	case ended >= 0:
	case p.terminating && (!p.ready || c.nodes[p.node].Deleted): // it never was, or no kubelet says that it is not any more
		ended = time.Duration(p.deleted) * time.Second
	default:
		ended = now
	}
	c.jobController.Failed(job, now, ended)
}

// reportJobs returns the Jobs that failed, by name.
func (c *cluster) reportJobs() []FailedJob {
	slices.SortFunc(c.failedJobs, func(a, b FailedJob) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return c.failedJobs
}

// readiness records since when a pod of a Job is not Ready: if it fails, the Job's controller takes that for its end.
func (c *cluster) readiness(i int32) {
	if j := c.jobOf(c.pods[i].spec, c.pods[i].id.space); j != nil {
		j.pods[i] = -1
		if !c.pods[i].ready {
			j.pods[i] = c.now()
		}
	}
}
