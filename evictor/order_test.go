package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

func TestNodesThatFallSilentTogetherAreUnknownBeforeAnyOfTheirPodsIsMarked(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 30), evictortest.PodsPerNode(3))
	var kinds []evictor.Kind
	c.Start(evictor.DefaultConfig(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Kind == evictor.ConditionsWritten || d.Kind == evictor.PodMarkedNotReady {
			kinds = append(kinds, d.Kind)
		}
	})})
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(2 * time.Minute)
	require.Len(t, kinds, 4+4*3)
	for i, kind := range kinds {
		require.Equal(t, i < 4, kind == evictor.ConditionsWritten, kinds)
	}
}
