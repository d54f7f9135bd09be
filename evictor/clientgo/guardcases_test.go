//go:build go1.25

package clientgo_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/evictkit/evictkit/internal/guardcases"
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

// The guard keeps to the table that its simulation keeps to.
func TestTheGuardKeepsToItsTable(t *testing.T) {
	for _, c := range guardcases.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				g := startGuarded(t, never)
				for _, change := range c.Changes {
					time.Sleep(change.At - time.Since(began))
					g.set(func() { g.change(change.What, c.Latency) })
					if change.What == guardcases.Down {
						g.watches.end()
					}
				}
				time.Sleep(guardcases.Until - time.Since(began))
				var told []guardcases.Told
				for i, text := range g.all() {
					told = append(told, guardcases.Told{Well: text == "well", From: g.at(i).Sub(began)})
				}
				require.Empty(t, c.Fault(told), g.all())
			})
		})
	}
}

// change makes happen what a case says. The lock must be held.
func (g *guarded) change(what guardcases.What, latency time.Duration) {
	switch what {
	case guardcases.Down, guardcases.Up:
		g.mute = what == guardcases.Down
	case guardcases.Blind, guardcases.Seeing:
		g.blind = what == guardcases.Blind
	case guardcases.NoRenewals:
		g.alive = nil
	case guardcases.Renewals:
		g.alive = []string{"a-0", "a-1"}
	case guardcases.Slow:
		g.takes = latency
	case guardcases.Fast:
		g.takes = 0
	default:
		panic("unknown: " + string(what))
	}
}
