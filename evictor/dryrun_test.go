package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// A dry run remembers every label that it would have written, not the last ones only: else each one that it forgets
// is due again, for ever.
func TestDryRunRemembersTheLabelsOfEveryWrite(t *testing.T) {
	node := &v1.Node{}
	node.Name, node.Labels = "n", map[string]string{v1.LabelOSStable: "linux"}
	b := &bare{nodes: map[string]*v1.Node{"n": node}}
	clk := testingclock.NewFakePassiveClock(evictortest.Epoch)
	written := 0
	e, err := evictor.New(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b}, evictor.Options{
		Clock: clk, DryRun: true, Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.LabelsWritten {
				written++
			}
		}),
	})
	require.NoError(t, err)
	step := func() {
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.True(t, next.After(clk.Now()))
		clk.SetTime(clk.Now().Add(time.Second))
	}
	step()
	require.Equal(t, 1, written)
	later := node.DeepCopy()
	later.Labels[v1.LabelArchStable] = "amd64"
	b.nodes["n"] = later
	e.NodeChanged("n")
	step()
	require.Equal(t, 2, written)
}
