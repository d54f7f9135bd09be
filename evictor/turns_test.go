package evictor_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// reportsAfterConditions writes nodes whose kubelets report right after we have declared them silent.
type reportsAfterConditions struct {
	evictor.NodeWriter
	report func(node string)
}

func (w reportsAfterConditions) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	err := w.NodeWriter.UpdateConditions(ctx, node, conditions)
	w.report(node.Name)
	return err
}

// Between the writes of one turn the kubelet may report Ready. Then there is nothing to taint any more.
func TestReportDuringATurnVoidsIt(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	clients := c.Clients()
	clients.NodeWriter = reportsAfterConditions{clients.NodeWriter, func(node string) { c.Recover(node) }}
	e, err := evictor.New(config(), clients, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	c.Feed(e)
	c.Fail("a-0")
	for range 60 {
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		c.Advance(time.Second)
	}
	require.NotEmpty(t, says(c, `"condition"`))
	require.Empty(t, says(c, "NoExecute"))
	require.Empty(t, c.Taints("a-0"))
}

// A node whose taint is written has had its turn, whatever fails after that: it must not take other nodes' turns.
func TestFailureAfterTheTaintCostsNoMoreTurns(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.PodsPerNode(1))
	c.Start(config())
	forbid(c, "podStatus")
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(3 * time.Minute)
	require.Equal(t, []string{"45.000", "55.000", "65.000"}, times(says(c, "NoExecute", "add")))
}

func TestPreferChoosesWhoIsTaintedNext(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 1))
	var asked [][]string
	c.Start(config(), evictor.Options{Prefer: func(key zone.Key, waiting []string) string {
		require.Equal(t, "a", key.Zone)
		asked = append(asked, append([]string(nil), waiting...))
		return waiting[len(waiting)-1]
	}})
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(2 * time.Minute)
	require.Equal(t, [][]string{{"a-0", "a-1", "a-2", "a-3"}, {"a-0", "a-1", "a-2"}, {"a-0", "a-1"}}, asked)
	var order []string
	for _, line := range says(c, "NoExecute", "add") {
		order = append(order, strings.Split(line, `"`)[9])
	}
	require.Equal(t, []string{"a-3", "a-2", "a-1", "a-0"}, order)
}

// A Prefer that panics leaves the order as it is, and delays no node.
func TestPreferThatPanicsChoosesNobody(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	var log bytes.Buffer
	c.Start(config(), evictor.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Prefer: func(zone.Key, []string) string { panic("a bug of the program's") },
	})
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.True(t, c.HasNoExecute("a-1"))
	require.Contains(t, log.String(), "a bug of the program's")
}

// Between the writes of a node, somebody may remove our taint. The swap that was planned would now be a new taint, so the
// node waits for a turn like any other.
func TestASwapWhoseTaintIsGoneNeedsATurn(t *testing.T) {
	for _, gone := range []bool{false, true} {
		c := evictortest.New(t, evictortest.Zone("a", 4))
		clients := c.Clients()
		clients.NodeWriter = reportsAfterConditions{clients.NodeWriter, func(node string) {
			if gone && node == "a-0" {
				c.Untaint(node, v1.TaintNodeNotReady, v1.TaintEffectNoExecute)
			}
		}}
		s := stepped(t, c, config(), clients)
		c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
		s.run(time.Minute)
		require.True(t, c.HasNoExecute("a-0"))
		c.Fail("a-0", "a-1")
		s.run(2 * time.Minute)
		added := times(says(c, v1.TaintNodeUnreachable, "NoExecute", "add"))
		require.Len(t, added, 2)
		require.Equal(t, gone, added[0] != added[1], "a swap takes no turn: %v", added)
	}
}
