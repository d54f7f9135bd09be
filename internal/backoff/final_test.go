package backoff

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFinal(t *testing.T) {
	require.NoError(t, Final(nil))
	require.False(t, IsFinal(nil))
	gone := errors.New("gone")
	require.False(t, IsFinal(gone))
	require.True(t, IsFinal(fmt.Errorf("node a: %w", Final(gone))))
	require.ErrorIs(t, Final(gone), gone)
	require.EqualError(t, Final(gone), "gone")
}
