//go:build go1.25

package clientgo_test

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// slowClient makes reads of single leases take some time.
type slowClient struct {
	kubernetes.Interface
	takes func() time.Duration
}

// IsWatchListSemanticsUnSupported is what the fake clientset below says, which reflectors of client-go 0.35 and later ask.
func (slowClient) IsWatchListSemanticsUnSupported() bool { return true }

func (c slowClient) CoordinationV1() typedcoordinationv1.CoordinationV1Interface {
	return slowCoordination{c.Interface.CoordinationV1(), c.takes}
}

type slowCoordination struct {
	typedcoordinationv1.CoordinationV1Interface
	takes func() time.Duration
}

func (c slowCoordination) Leases(namespace string) typedcoordinationv1.LeaseInterface {
	return slowLeases{c.CoordinationV1Interface.Leases(namespace), c.takes}
}

type slowLeases struct {
	typedcoordinationv1.LeaseInterface
	takes func() time.Duration
}

func (l slowLeases) Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error) {
	if takes := l.takes(); takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return l.LeaseInterface.Get(ctx, name, opts)
}

// shownWatches are the watches of leases that are open.
type shownWatches struct {
	mu   sync.Mutex
	open []watch.Interface
}

func (s *shownWatches) add(w watch.Interface) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, w)
}

// end ends all watches, as a server that goes down does.
func (s *shownWatches) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.open {
		w.Stop()
	}
	s.open = nil
}
