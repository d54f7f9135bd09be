// Package floor is a program on old Kubernetes libraries that uses every package of the root module. Nor does the API server of 1.26.
package floor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/server"

	"github.com/evictkit/evictkit/evictor"
	_ "github.com/evictkit/evictkit/evictor/budget/guard"
	_ "github.com/evictkit/evictkit/evictor/dryrun"
	"github.com/evictkit/evictkit/evictor/evictortest"
	_ "github.com/evictkit/evictkit/evictor/explain"
	_ "github.com/evictkit/evictkit/evictor/maintenance"
	_ "github.com/evictkit/evictkit/evictor/together"
)

func TestProgram(t *testing.T) {
	require.NotNil(t, server.NewRecommendedConfig)
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.Start(evictor.DefaultConfig())
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
}
