package scenariofile

import (
	"context"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/examples/objects"
	"github.com/evictkit/evictkit/internal/simulator"
)

// Left is what files contain and a simulation does not play.
type Left struct {
	Unbound int            `json:"unboundPods"` // pods that are not bound to any of the nodes
	Kinds   map[string]int `json:"kinds"`       // objects of kinds that are not read; nil if none
}

// ReadObjects streams the objects of the files into the cluster: nodes, pods, PodDisruptionBudgets, PersistentVolumes,
// PersistentVolumeClaims, and Jobs. It returns what it left out; the cluster itself reports what it ignores of the others. Each file is read once. A pod that comes
// before its node waits in memory, compressed, and so do all pods after it, so that pods are added in the order of the
// files. If read is not nil it is called with the number of bytes read. Reading ends with the context.
func ReadObjects(ctx context.Context, c *simulator.Cluster, files []string, read func(bytes int)) (left Left, err error) {
	r := reader{ctx: ctx, cluster: c, read: read}
	for _, file := range files {
		count, err := r.stream(file, r.take)
		if err != nil {
			return Left{}, err
		}
		for kind, n := range count.Kinds {
			if r.left.Kinds == nil {
				r.left.Kinds = make(map[string]int)
			}
			r.left.Kinds[kind] += n
		}
	}
	if at, err := r.early.each(ctx, r.bind); err != nil {
		return Left{}, r.place(files, at, err)
	}
	return r.left, nil
}

// reader adds pods as long as their nodes have come before them. From the first pod without a node on, all wait.
type reader struct {
	ctx     context.Context
	cluster *simulator.Cluster
	read    func(int)
	left    Left
	early   waiting
	taken   int // number of pods before the first that waits
}

func (r *reader) take(o objects.Object) error {
	switch {
	case o.Node != nil:
		return r.cluster.AddNodeObject(o.Node)
	case o.Budget != nil:
		b := o.Budget
		return r.cluster.AddBudget(b.Namespace, b.Name, simulator.BudgetSpec{
			MinAvailable: b.MinAvailable, MaxUnavailable: b.MaxUnavailable, Selector: b.Selector, UnhealthyPodEvictionPolicy: b.UnhealthyPodEvictionPolicy,
		})
	case o.Volume != nil:
		return r.cluster.AddVolumeObject(o.Volume)
	case o.Claim != nil:
		return r.cluster.AddClaimObject(o.Claim)
	case o.Job != nil:
		return r.cluster.AddJob(o.Job.Namespace, o.Job.Name, jobOf(o.Job))
	case r.early.count > 0:
		return r.early.add(o.Pod)
	case o.Pod.Spec.NodeName == "":
		r.left.Unbound++
	default:
		if bound, err := r.cluster.AddPodObject(o.Pod); err != nil {
			return err
		} else if !bound {
			return r.early.add(o.Pod)
		}
	}
	r.taken++
	return nil
}

// defaultBackoffLimit is what the API server sets.
const defaultBackoffLimit = 6

// jobOf is what the simulator knows of a Job. Its rules for failures, by index or by reason, are not simulated.
func jobOf(j *objects.Job) simulator.JobSpec {
	s := simulator.JobSpec{
		Limit: defaultBackoffLimit, Failed: j.Status.Failed + len(j.Status.UncountedTerminatedPods.Failed),
		OnlyFailed: j.Spec.PodReplacementPolicy == "Failed", Ended: j.Ended(),
	}
	if j.Spec.BackoffLimit != nil {
		s.Limit = int(*j.Spec.BackoffLimit)
	}
	if j.Spec.PodFailurePolicy != nil || j.Spec.BackoffLimitPerIndex != nil {
		s.Other, s.Limit = true, -1
	}
	return s
}

// bind adds a pod that waited.
func (r *reader) bind(pod *v1.Pod) error {
	bound, err := r.cluster.AddPodObject(pod)
	if !bound {
		r.left.Unbound++
	}
	return err
}

// place finds where a wrong pod is in the files, by reading them again; at is its number among those that waited.
func (r *reader) place(files []string, at int, wrong error) error {
	at += r.taken
	for _, file := range files {
		if _, err := r.stream(file, func(o objects.Object) error {
			if o.Pod == nil {
				return nil
			}
			if at--; at < 0 {
				return wrong
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return wrong
}

func (r *reader) stream(file string, visit func(objects.Object) error) (objects.Count, error) {
	f, err := os.Open(file)
	if err != nil {
		return objects.Count{}, fmt.Errorf("cluster.files: %w", err)
	}
	defer f.Close()
	return objects.StreamCount(&source{r, f}, file, visit)
}

// source is a file that is read until the context ends.
type source struct {
	reader *reader
	file   io.Reader
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.reader.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.file.Read(p)
	if s.reader.read != nil {
		s.reader.read(n)
	}
	return n, err
}
