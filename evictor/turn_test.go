package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// A node that is deleted during its turn takes the turn with it: the next node of its name has its own.
func TestNodeThatGoesDuringItsTurnLeavesItsNameFree(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.Start(config())
	conflicts := 0
	c.FailWrites(func(write, object string) error {
		if write != "taints" || object != "a-0" || conflicts > 0 {
			return nil
		}
		conflicts++
		c.DeleteNode("a-0")
		return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, object, nil)
	})
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.Equal(t, 1, conflicts)
	c.AddNode("a-0", zone.Key{Zone: "a"})
	c.Advance(time.Minute)
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
}
