package manager

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	evictormetrics "github.com/evictkit/evictkit/evictor/clientgo/metrics"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
)

func TestOnlyTheLeaderWrites(t *testing.T) {
	elected := make(chan struct{})
	var blind error
	may := leading(func() <-chan struct{} { return elected }, nil, func() error { return blind })
	require.Error(t, may())
	close(elected)
	require.NoError(t, may())
	blind = errors.New("blind")
	require.ErrorIs(t, may(), blind)
	require.False(t, everywhere(nil).NeedLeaderElection(), "the others watch")
}

// TestWhatAProgramAsksForHolds beside what the manager adds.
func TestWhatAProgramAsksForHolds(t *testing.T) {
	no := errors.New("not on Sundays")
	var follows error
	cluster, err := clientgo.New(fake.NewClientset(), clientgo.Options{})
	require.NoError(t, err)
	var seen []string
	o := Options{Cluster: clientgo.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Leads: func() error { return follows }}, Evictor: evictor.Options{
		Observer: explain.Observer(func(e explain.Entry) { seen = append(seen, e.Kind) }),
		Gate:     gate.Func(func(context.Context, gate.Act) error { return no }),
	}}
	e := o.observed(evictormetrics.New(evictormetrics.Options{}), cluster)
	e.Observer.ObserveNode(nodelifecycle.Decision{Kind: nodelifecycle.NodeRegistered})
	require.Equal(t, []string{"NodeRegistered"}, seen)
	require.ErrorIs(t, e.Gate.May(context.Background(), gate.Act{Do: gate.Write}), no)
	follows = errors.New("another replica leads")
	require.ErrorIs(t, e.Gate.May(context.Background(), gate.Act{Do: gate.Write}), follows, "which is asked first")
	require.GreaterOrEqual(t, e.Jitter(time.Second), time.Second)
	e.OnPanic("key", "value", nil)
}
