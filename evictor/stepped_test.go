package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// byHand is an evictor with the test's own clients, stepped every second.
type byHand struct {
	t *testing.T
	c *evictortest.Cluster
	e *evictor.Evictor
}

func stepped(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, clients evictor.Clients, budgets ...*budget.Budget[string, evictor.Member]) byHand {
	options := evictor.Options{Clock: c.Clock()}
	for _, b := range budgets {
		options.Budget = b
	}
	e, err := evictor.New(cfg, clients, options)
	require.NoError(t, err)
	c.Feed(e)
	return byHand{t, c, e}
}

func (b byHand) run(d time.Duration) {
	for until := b.c.Clock().Now().Add(d); b.c.Clock().Now().Before(until); b.c.Advance(time.Second) {
		_, err := b.e.Step(context.Background())
		require.NoError(b.t, err)
	}
}
