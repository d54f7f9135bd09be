package simulation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
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
