package controlplane

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// brakesName is the ConfigMap of the manifests, whose role lets the controller read it.
const brakesName = "evictkit-controller-brakes"

// Operators stop everything, a zone, a node, and announce the maintenance of a node. What they have stopped outlives a
// restart and the loss of the ConfigMap. When they release it, everything goes on.
func TestBrakes(t *testing.T) {
	c := start(t)
	t.Cleanup(func() { c.pull(t, nil) }) // after the controller has ended
	stopped, free := c.Zone(0)[10:12], c.Zone(1)[10:12]
	held, announced := c.Zone(1)[20], c.Zone(1)[30]
	all := append(append([]string{held, announced}, stopped...), free...)
	pods := c.uids(all...)
	flags := []string{"--brakes=" + metav1.NamespaceSystem + "/" + brakesName, "--announced-maintenance=10m"}
	calm := func(nodes ...string) func(*Now) string {
		return func(now *Now) string {
			for _, node := range nodes {
				if HasNoExecute(now.Node(node)) {
					return node + " is tainted"
				}
			}
			return leave(now, without(pods, without(pods, c.podsOf(nodes))))
		}
	}

	c.pull(t, map[string]string{"all": "a test"})
	c.announce(t, announced, v1.ConditionTrue)
	t.Cleanup(func() { c.announce(t, announced, v1.ConditionFalse) })
	first := c.run(t, "brakes", flags...)
	c.Stop(all...)
	c.wait(t, soon, func(now *Now) string {
		for _, node := range all {
			if ReadyOf(now.Node(node)) != v1.ConditionUnknown {
				return node + " is not Unknown"
			}
		}
		return calm(all...)(now)
	})
	c.hold(t, fleetConfig.Toleration+5*period, calm(all...))

	require.True(t, first.Terminate(soon), first.Log())
	c.run(t, "brakes-after-a-restart", flags...)
	c.hold(t, 2*grace, calm(all...))
	require.NoError(t, c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(c.ctx, brakesName, metav1.DeleteOptions{}))
	c.hold(t, grace, calm(all...))

	c.pull(t, map[string]string{"zone.region.zone-0": "a test", "node." + held: "a test"})
	freed := without(pods, c.podsOf(append([]string{held, announced}, stopped...)))
	c.wait(t, soon, func(now *Now) string { return untainted(now, free) + remain(now, freed) })
	spared := append([]string{held, announced}, stopped...)
	c.hold(t, fleetConfig.Toleration, calm(spared...))

	c.pull(t, nil)
	c.announce(t, announced, v1.ConditionFalse)
	c.wait(t, 2*soon, func(now *Now) string { return untainted(now, spared) + remain(now, pods) })
}

// pull makes these the only brakes that are pulled, as kubectl would, and creates the ConfigMap if it is not there.
func (c *cluster) pull(t *testing.T, brakes map[string]string) {
	t.Helper()
	maps := c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	made := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: brakesName}, Data: brakes}
	if _, err := maps.Create(c.ctx, made, metav1.CreateOptions{}); err == nil {
		return
	}
	was, err := maps.Get(c.ctx, brakesName, metav1.GetOptions{})
	require.NoError(t, err)
	data := map[string]*string{}
	for key := range was.Data {
		data[key] = nil
	}
	for key, why := range brakes {
		data[key] = &why
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	require.NoError(t, err)
	_, err = maps.Patch(c.ctx, brakesName, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}

// announce sets the condition that plans the maintenance of a node, as the runbook does.
func (c *cluster) announce(t *testing.T, node string, status v1.ConditionStatus) {
	t.Helper()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"MaintenancePlanned","status":%q,"reason":"Test"}]}}`, status)
	_, err := c.client.CoreV1().Nodes().Patch(c.ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
}
