package scenariofile

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/simulator"
)

// The page says what each figure is that an expectation may name.
func TestThePageExplainsEachFigure(t *testing.T) {
	page, err := os.ReadFile("SCENARIO.md")
	require.NoError(t, err)
	for _, figure := range slices.Concat(new(simulator.Report).Figures(), new(simulator.Zone).Figures(), new(simulator.Workload).Figures(), new(simulator.Budget).Figures()) {
		require.True(t, strings.Contains(string(page), "`"+figure.Name+"`"), figure.Name)
	}
}
