package simulation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/zone"
)

func TestManyNamespaces(t *testing.T) {
	c := newCluster(clockOf(nil))
	require.NoError(t, c.AddNode("n", zone.Key{}))
	for i := range 1<<16 + 1 {
		require.NoError(t, c.AddPod(evictor.PodKey{Namespace: fmt.Sprint("s", i), Name: "p"}, "n", podSpec{}))
	}
	pod, ok := c.Pod(evictor.PodKey{Namespace: "s0", Name: "p"})
	require.True(t, ok)
	require.Equal(t, "s0", pod.Namespace)
}

// AddNode adds a healthy node that has reported and renewed now. It fails if the name is taken.
func (c *cluster) AddNode(name string, key zone.Key) error {
	return c.addNode(node{
		NodeInfo: &placement.NodeInfo{Name: name, Labels: nodeLabels(name, key, nil), Conditions: healthy}, created: stamp(c.now()), reported: c.now(),
	})
}

// AddPod adds a Ready pod bound now to a node that exists.
func (c *cluster) AddPod(key evictor.PodKey, nodeName string, s podSpec) error {
	p := pod{spec: c.spec(s), ready: true, bound: c.now(), member: c.member(key.Namespace, s.OwnerKind, s.OwnerName, s.Labels)}
	return c.addWanted(c.id(key), p, nodeName)
}
