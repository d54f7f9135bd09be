package controlplane

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// uids are those of the pods of the nodes.
func (c *cluster) uids(nodes ...string) map[string]types.UID {
	uids := map[string]types.UID{}
	c.view.Look(func(now *Now) {
		for _, node := range nodes {
			for _, name := range c.Pods(node) {
				uids[name] = now.Pod(name).UID
			}
		}
	})
	return uids
}

// evicted says which of the pods are not on their way out yet.
func evicted(now *Now, pods map[string]types.UID) string {
	for name, uid := range pods {
		if _, gone := now.Evicted(uid); !gone {
			return fmt.Sprintf("pod %s stays", name)
		}
	}
	return ""
}

// stays says which of the pods are on their way out.
func stays(now *Now, pods map[string]types.UID) string {
	for name, uid := range pods {
		if at, gone := now.Evicted(uid); gone {
			return fmt.Sprintf("pod %s was evicted at %s", name, at)
		}
	}
	return ""
}

// Nodes stop, and their pods leave when their tolerations end, neither sooner nor much later.
func TestNodesStopAndTheirPodsLeave(t *testing.T) {
	c := start(t)
	c.run(t, "nodes-stop")
	nodes := append(c.Zone(0)[:5:5], c.Zone(1)[:5]...)
	all, theirs := c.uids(c.Nodes()...), c.uids(nodes...)
	for name := range theirs {
		delete(all, name)
	}
	c.Stop(nodes...)
	require.NoError(t, c.view.Wait(c.ctx, soon, func(now *Now) string { return evicted(now, theirs) }))
	c.view.Look(func(now *Now) {
		for _, node := range nodes {
			tainted, ok := now.Tainted(node)
			require.True(t, ok)
			for _, pod := range c.Pods(node) {
				at, _ := now.Evicted(theirs[pod])
				require.GreaterOrEqual(t, at.Sub(tainted), fleetConfig.Toleration-time.Second, "TimeAdded is cut to seconds")
				require.LessOrEqual(t, at.Sub(tainted), fleetConfig.Toleration+5*time.Second)
			}
		}
		require.Empty(t, stays(now, all), "nobody else leaves")
	})
}
