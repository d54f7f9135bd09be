package gate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	require.Equal(t, []Do{"Write", "Harm", "Turn", "Evict"}, []Do{Write, Harm, Turn, Evict})
}

func TestResumeSaysWhetherThereWasThatReason(t *testing.T) {
	p := &Pause{}
	p.Pause("incident")
	require.False(t, p.Resume("maintenance"))
	require.True(t, p.Resume("incident"))
	require.False(t, p.Resume("incident"))
}
