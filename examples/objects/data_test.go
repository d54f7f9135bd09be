package objects_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/objects"
)

// BenchmarkStreamRealCluster reads 1,523 recorded nodes and 5,193 pods (JSON, 6 MB) an iteration.
func BenchmarkStreamRealCluster(b *testing.B) {
	data := os.Getenv("EVICTKIT_DATA")
	if data == "" {
		b.Skip("EVICTKIT_DATA is not set")
	}
	b.ReportAllocs()
	for b.Loop() {
		var total objects.Count
		for _, file := range []string{"openb-nodes.json", "openb-pods.json"} {
			f, err := os.Open(filepath.Join(data, "openb", file))
			require.NoError(b, err)
			count, err := objects.StreamCount(f, file, func(objects.Object) error { return nil })
			require.NoError(b, err)
			require.NoError(b, f.Close())
			total.Nodes += count.Nodes
			total.Pods += count.Pods
		}
		require.Equal(b, objects.Count{Nodes: 1523, Pods: 5193}, total)
	}
}
