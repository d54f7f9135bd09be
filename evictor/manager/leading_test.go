package manager

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	evictormetrics "github.com/evictkit/evictkit/evictor/clientgo/metrics"
)

func TestOnlyTheLeaderWrites(t *testing.T) {
	elected := make(chan struct{})
	var blind error
	may := leading(elected, func() error { return blind })
	require.Error(t, may())
	close(elected)
	require.NoError(t, may())
	blind = errors.New("blind")
	require.ErrorIs(t, may(), blind)
	require.False(t, everywhere(nil).NeedLeaderElection(), "the others watch")
}

// TestWhatAProgramAsksForHolds beside what the manager adds.
func TestWhatAProgramAsksForHolds(t *testing.T) {
	elected, no := make(chan struct{}), errors.New("not on Sundays")
	close(elected)
	var seen []evictor.Kind
	var took time.Duration
	o := Options{Evictor: evictor.Options{
		Observer: evictor.ObserverFunc(func(d evictor.Decision) { seen = append(seen, d.Kind) }),
		OnPass:   func(d time.Duration) { took = d }, MayWrite: func() error { return no },
	}}
	e := o.evictor(evictormetrics.New(evictormetrics.Options{}), elected, func() error { return nil })
	e.Observer.Observe(evictor.Decision{Kind: evictor.NodeRegistered})
	e.OnPass(time.Second)
	require.Equal(t, []evictor.Kind{evictor.NodeRegistered}, seen)
	require.Equal(t, time.Second, took)
	require.ErrorIs(t, e.MayWrite(), no)
	require.GreaterOrEqual(t, e.Jitter(time.Second), time.Second)
}
