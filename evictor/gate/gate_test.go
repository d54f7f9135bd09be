package gate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	require.Equal(t, "Evict", Evict.String())
	require.Equal(t, []string{"Do(0)", "Do(5)"}, []string{Do(0).String(), Do(5).String()})
}
