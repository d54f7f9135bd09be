package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

func TestUnsyncedStoreDecidesNothing(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	clients := c.Clients()
	clients.Nodes = unsynced{clients.Nodes}
	e, err := newTested(config(), clients, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	next, err := e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, evictortest.Epoch.Add(time.Second), next)
}

type unsynced struct{ evictor.NodeStore }

func (unsynced) Synced() bool { return false }

// A fault of both halves is listed once.
func TestFaultsOfBothHalvesAreListedOnce(t *testing.T) {
	cfg := evictor.DefaultConfig()
	cfg.Nodes.GateInterval = -1
	var faults utilerrors.Aggregate
	require.ErrorAs(t, cfg.Validate(), &faults)
	require.Len(t, faults.Errors(), 1)
}
