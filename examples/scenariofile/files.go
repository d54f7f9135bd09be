package scenariofile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/objects"
)

// Left counts what files contain but a simulation does not play.
type Left struct {
	Kinds map[string]int `json:"kinds"` // objects of kinds that are not read; nil if none
}

// Simulation returns what a simulation plays. While it plays, it reads the files' nodes, pods, PodDisruptionBudgets,
// PersistentVolumes, PersistentVolumeClaims, Jobs and StatefulSets, each file once, and counts in left what it leaves
// out. If read is not nil it is called with the number of bytes read. Reading ends with the context.
func (s *Scenario) Simulation(ctx context.Context, read func(bytes int)) (played simulation.Scenario, left *Left) {
	played, left = s.simulation(), &Left{}
	if len(s.Cluster.Files) > 0 {
		played.Read = func(add func(runtime.Object) error) error { return left.read(ctx, s.Cluster.Files, read, add) }
	}
	return played, left
}

// Objects reads the objects of files into a scenario that has nothing else. What a simulation would refuse is an error that
// names the place in the file.
func Objects(ctx context.Context, files []string) (s simulation.Scenario, left Left, err error) {
	checked := simulation.Scenario{Read: func(check func(runtime.Object) error) error {
		return left.read(ctx, files, nil, func(object runtime.Object) error {
			switch o := object.(type) {
			case *v1.Node:
				s.Nodes = append(s.Nodes, o)
			case *v1.Pod:
				s.Pods = append(s.Pods, o)
			default:
				s.Objects = append(s.Objects, o)
			}
			return check(object)
		})
	}}
	_, err = simulation.New(checked)
	if simulation.Faults(err) != nil {
		err = errors.Unwrap(err) // without what makes it
	}
	return s, left, err
}

// read passes the objects of files on, and counts those that it leaves out.
func (l *Left) read(ctx context.Context, files []string, read func(bytes int), add func(runtime.Object) error) error {
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("cluster.files: %w", err)
		}
		count, err := objects.Stream(&source{ctx, f, read}, file, func(object runtime.Object) error {
			switch o := object.(type) {
			case *batchv1.Job:
				o.Spec.Parallelism = new(int32) // the files have the pods that it has
			case *appsv1.StatefulSet:
				o.Spec.Replicas = new(int32) // so here
			}
			return add(object)
		})
		_ = f.Close() // it was only read
		if err != nil {
			return err
		}
		for kind, n := range count.Skipped {
			if l.Kinds == nil {
				l.Kinds = make(map[string]int)
			}
			l.Kinds[kind] += n
		}
	}
	return nil
}

// source is a file that is read until the context ends.
type source struct {
	ctx  context.Context
	file io.Reader
	read func(int) // may be nil
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.file.Read(p)
	if s.read != nil {
		s.read(n)
	}
	return n, err
}
