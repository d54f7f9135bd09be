package objects_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/runtime"

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
		total := make(map[string]int)
		for _, file := range []string{"openb-nodes.json", "openb-pods.json"} {
			f, err := os.Open(filepath.Join(data, "openb", file))
			require.NoError(b, err)
			count, err := objects.Stream(f, file, func(runtime.Object) error { return nil })
			require.NoError(b, err)
			require.NoError(b, f.Close())
			for kind, n := range count.Read {
				total[kind] += n
			}
		}
		require.Equal(b, map[string]int{"Node": 1523, "Pod": 5193}, total)
	}
}
