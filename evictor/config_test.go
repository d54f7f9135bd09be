package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
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

type unsynced struct{ cluster.NodeStore }

func (unsynced) Synced() bool { return false }

// A fault of both halves is listed once.
func TestFaultsOfBothHalvesAreListedOnce(t *testing.T) {
	cfg := evictor.DefaultConfig()
	cfg.Nodes.GateInterval = -1
	var faults utilerrors.Aggregate
	require.ErrorAs(t, cfg.Validate(), &faults)
	require.Len(t, faults.Errors(), 1)
}

// A step of ten minutes is a suspension, in which nobody falls silent, unless the program says otherwise.
func TestOneBigStepOfAFakeClock(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		for _, maxGap := range []time.Duration{0, time.Hour} {
			cfg.Nodes.MaxGap = maxGap
			u := newUpstreams(t, cfg)
			u.node("dead", "", longAgo, v1.ConditionTrue)
			u.node("well", "", longAgo, v1.ConditionTrue)
			u.pass(0)
			u.clk.SetTime(u.clk.Now().Add(10 * time.Minute))
			u.says("well", v1.ConditionTrue)
			u.pass(0)
			status, _ := u.e.Nodes().Node("dead")
			require.Equal(t, maxGap > 0, status.Verdict.Ready == v1.ConditionUnknown)
		}
	}
}
