package node

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// A turn is kept for five conflicts in a row; a write that arrives begins anew.
func TestConflictsOfATurn(t *testing.T) {
	var r Record
	for n := 1; n <= 5; n++ {
		require.Equal(t, n, r.Wrote(true, "7"))
		require.Equal(t, Kept, r.EndTurn(Facts{}, false, true))
	}
	require.Equal(t, 6, r.Wrote(true, "7"))
	require.Equal(t, Spent, r.EndTurn(Facts{}, false, true))
	require.Equal(t, 1, r.Wrote(true, "7"))
	require.Zero(t, r.Wrote(false, "8"))
	require.Equal(t, 1, r.Wrote(true, "9"))
}

// Another version than the one that was too old is told of once, and not when a write has arrived since.
func TestVersionThatWasTooOld(t *testing.T) {
	var r Record
	movedOn := func(version string) bool {
		object := healthy()
		object.ResourceVersion = version
		_, moved := r.Note(object, labelled(object), false, true, at(0))
		return moved
	}
	require.False(t, movedOn("5"))
	r.Wrote(true, "5")
	require.False(t, movedOn("5"))
	require.True(t, movedOn("6"))
	require.False(t, movedOn("7"), "once")
	r.Wrote(true, "7")
	r.Wrote(false, "7")
	require.False(t, movedOn("8"))
	require.Equal(t, v1.ConditionTrue, r.says)
}
