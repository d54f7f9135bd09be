package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// A node that was deleted and recreated does not count as deleted again if the store shows the old one once more.
func TestOlderNodeOfTheSameNameIsIgnored(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5))
	r, s := newRelisted(t, c, config())
	s.run(20 * time.Second)
	r.keepNode("a-0")
	c.DeleteNode("a-0")
	s.run(10 * time.Second)
	c.AddNode("a-0", zone.Key{Zone: "a"})
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 100))
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}) // at 30
	s.run(20 * time.Second)
	r.goBack(s.e, true)
	s.run(20 * time.Second)
	require.Len(t, s.e.Evictions(), 1, "nothing became of it")
	r.goBack(s.e, false)
	s.run(2 * time.Minute)
	require.Equal(t, []string{"130.000"}, times(says(c, `"evict"`)))
}

// A pod with the name of an evicted one is another pod, even if the store never showed the first one gone.
func TestPodThatTakesTheNameOfAnEvictedOneIsAnother(t *testing.T) {
	c, r, s, tries := unseen(t, config())
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	s.run(10 * time.Second)
	c.AddPod("a-0-p0", "a-0")
	r.keepPod("a-0-p0")
	r.goBack(s.e, true)
	s.run(10 * time.Second)
	require.Equal(t, map[string]int{"default/a-0-p0": 2, "default/a-0-p1": 1}, tries)
}

// A node that is deleted during its turn ends the turn. The next node with that name has its own.
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
