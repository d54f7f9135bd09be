package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// If a node is deleted while it is written, what would follow is not tried, and what did not happen is not reported.
func TestNothingIsToldOfWritesOfANodeThatIsGone(t *testing.T) {
	for _, taints := range []bool{true, false} {
		for _, goes := range []string{"before", "amid"} {
			cfg := config()
			cfg.TaintBasedEviction, cfg.PodEvictionTimeout = taints, 45*time.Second
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
			var tried []string
			told := map[evictor.Kind]int{}
			c.FailWrites(func(write, object string) error {
				tried = append(tried, write+" "+object)
				if goes == "amid" && len(tried) == 1 {
					c.DeleteNode("a-0")
				}
				if goes == "before" { // and the store does not know it yet
					return apierrors.NewNotFound(v1.Resource("nodes"), object)
				}
				return nil
			})
			c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) { told[d.Kind]++ })})
			c.Fail("a-0")
			c.Advance(46 * time.Second)
			require.Equal(t, []string{"conditions a-0"}, tried, "taints %t, gone %s", taints, goes)
			for _, kind := range []evictor.Kind{evictor.ConditionsWritten, evictor.TaintsWritten, evictor.NodeEmptied, evictor.PodEvicted, evictor.PodMarkedNotReady, evictor.WriteFailed} {
				require.Zero(t, told[kind], "%s, taints %t, gone %s", kind, taints, goes)
			}
		}
	}
}
