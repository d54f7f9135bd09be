// Package floor is a program on old Kubernetes libraries that uses every package of the root module. client-go's clientset of 1.27 to 1.31 does not compile beside libraries of 1.32.
package floor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evictkit/evictkit/evictor"
	_ "github.com/evictkit/evictkit/evictor/budget/guard"
	_ "github.com/evictkit/evictkit/evictor/dryrun"
	"github.com/evictkit/evictkit/evictor/evictortest"
	_ "github.com/evictkit/evictkit/evictor/explain"
	_ "github.com/evictkit/evictkit/evictor/maintenance"
	_ "github.com/evictkit/evictkit/evictor/together"
)

func TestProgram(t *testing.T) {
	_, err := kubernetes.NewForConfig(&rest.Config{Host: "https://localhost"})
	require.NoError(t, err)
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.Start(evictor.DefaultConfig())
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
}
