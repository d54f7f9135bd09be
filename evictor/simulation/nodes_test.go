package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOrderAndNumberOfNodes(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	plain := Nodes{Zone: "z"}
	require.Equal(t, names, plain.order(names, 3))
	seeded := Nodes{Zone: "z", Seed: 7}
	require.Equal(t, []string{"c", "b", "a", "e", "d"}, seeded.order(names, 0)) // as sha256sum says
	next := Nodes{Zone: "z", Seed: 8}
	require.Equal(t, next.order(names, 0), seeded.order(names, 1), "each round another choice, and the same each time")
	require.NotEqual(t, seeded.order(names, 0), next.order(names, 0))
	for percent, want := range map[float64]int{0: 5, 9.9: 0, 10: 1, 29: 1, 30: 2, 100: 5} {
		s := Nodes{Zone: "z", Percent: percent}
		require.Equal(t, want, s.most(5), percent)
	}
	require.Equal(t, 5, plain.most(5))
}
