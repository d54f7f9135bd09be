package gate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	require.Equal(t, []Do{"Write", "Harm", "Turn", "Evict"}, []Do{Write, Harm, Turn, Evict})
}
