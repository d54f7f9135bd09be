package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTolerationSeconds(t *testing.T) {
	for text, want := range map[string]TolerationSeconds{"300": 300, "-1": -1, "0": 0, "0x10": 16, "3.0": 3, "1e1": 10, "none": NoToleration} {
		var got TolerationSeconds
		require.NoError(t, got.UnmarshalText([]byte(text)))
		require.Equal(t, want, got, text)
		again, err := got.MarshalText()
		require.NoError(t, err)
		require.NoError(t, got.UnmarshalText(again))
		require.Equal(t, want, got, text)
	}
	for _, bad := range []string{"", "None", "5m", ".5", ".nan", "1e40"} {
		require.Error(t, new(TolerationSeconds).UnmarshalText([]byte(bad)), bad)
	}
}
