package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyTheLeaderWrites(t *testing.T) {
	elected := make(chan struct{})
	may := leading(elected)
	require.Error(t, may())
	close(elected)
	require.NoError(t, may())
	require.False(t, everywhere(nil).NeedLeaderElection(), "the others watch")
}
