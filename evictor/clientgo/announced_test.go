//go:build go1.25

package clientgo_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
)

// TestMaintenanceThatIsAnnouncedIsSeen: the informers keep each of the conditions by which a program may hold a node.
func TestMaintenanceThatIsAnnouncedIsSeen(t *testing.T) {
	for _, kind := range []v1.NodeConditionType{"MaintenancePlanned", "MaintenanceInProgress", "DrainInProgress", "Drained", "GracefulNodeShutdownInProgress"} {
		synctest.Test(t, func(t *testing.T) {
			spared := node("a-0")
			spared.Status.Conditions = append(spared.Status.Conditions, v1.NodeCondition{Type: kind, Status: v1.ConditionTrue})
			client := clientgotest.NewClientset(spared, node("a-1"), node("a-2"))
			cluster, err := clientgo.New(client, clientgo.Options{})
			require.NoError(t, err)
			e := runOn(t, cluster, evictor.Options{Hold: func(n *v1.Node) (string, bool) {
				for _, c := range n.Status.Conditions {
					if c.Type == kind && c.Status == v1.ConditionTrue {
						return string(kind), true
					}
				}
				return "", false
			}})
			kubelets(t, client, time.Minute, "a-0", "a-1", "a-2")
			status, _ := e.Nodes().Node("a-0")
			require.Equal(t, string(kind), status.Held)
		})
	}
}
