package nodelifecycle

import (
	"fmt"
	"os"
	"testing"

	// The tests' imports, so that go.mod has them.
	_ "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	_ "k8s.io/kubernetes/pkg/controller/nodelifecycle"
	_ "k8s.io/kubernetes/pkg/controller/testutil"
	_ "k8s.io/kubernetes/test/utils/ktesting"

	_ "github.com/evictkit/evictkit/health" // and the port's
	"github.com/evictkit/evictkit/internal/port"
	_ "github.com/evictkit/evictkit/ratelimitqueue"
	_ "github.com/evictkit/evictkit/zone"
)

var upstream = port.Port{
	Of:   "k8s.io/kubernetes/pkg/controller/nodelifecycle",
	As:   "github.com/evictkit/evictkit/internal/conformance/ports/nodelifecycle/ported",
	With: []string{"testdata/ours_test.go"},
}

// TestItsOwnTestsPass builds the port, and plays upstream's tests on it.
func TestItsOwnTestsPass(t *testing.T) {
	built, err := upstream.Build(t.TempDir())
	require.NoError(t, err)
	t.Logf("%v; of tests %v; gone are %v", built.Code, built.Tests, built.Gone)
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	require.Contains(t, string(page), built.Code.String())
	require.Contains(t, string(page), built.Tests.String())
	theirs, ours, err := built.Play()
	require.NoError(t, err)
	t.Logf("%d tests of theirs passed, and %v of ours", len(theirs), ours)
	require.Contains(t, string(page), fmt.Sprintf("all %d of its own tests", len(theirs)))
	require.NotEmpty(t, ours)
}

// BenchmarkLargePass plays the benchmark on upstream's and on the port in turn.
func BenchmarkLargePass(b *testing.B) {
	figures, err := upstream.Gain("testdata/gain_test.go", b.TempDir, 5, 5)
	require.NoError(b, err)
	for _, figure := range figures {
		b.Log(figure)
	}
}
