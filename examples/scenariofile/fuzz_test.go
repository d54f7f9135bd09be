package scenariofile_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/scenario"
)

// FuzzParse: for any text, Parse and Check return an error, or a scenario whose names and settings can be read.
func FuzzParse(f *testing.F) {
	everything, err := os.ReadFile("testdata/everything.yaml")
	require.NoError(f, err)
	f.Add(everything)
	trace, err := scenario.NewTrace(600, []int{3, 1})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scenariofile.Parse("f", text)
		if err != nil {
			require.Nil(t, s)
			return
		}
		nodes := 0
		for _, z := range s.Cluster.Zones {
			nodes += min(max(z.Nodes, 0), scenario.MaxNodes)
		}
		if nodes > 10_000 {
			t.Skip("only slow")
		}
		for i := range s.Availability {
			s.Availability[i].Trace = trace
		}
		if s.Check(nil) != nil {
			return
		}
		settings := s.Settings()
		require.Positive(t, settings.HeartbeatInterval)
		require.False(t, settings.Until < 0)
		for i := range s.Events {
			require.Len(t, s.Events[i].Actions(), 1)
			require.False(t, s.Events[i].Time() < 0)
		}
	})
}
