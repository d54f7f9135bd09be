package scenariofile

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// The page says what each figure is that an expectation may name.
func TestThePageExplainsEachFigure(t *testing.T) {
	page, err := os.ReadFile("SCENARIO.md")
	require.NoError(t, err)
	for _, figure := range slices.Concat(new(simulation.Report).Figures(), new(simulation.ZoneReport).Figures(), new(simulation.WorkloadReport).Figures(), new(simulation.BudgetReport).Figures()) {
		require.True(t, strings.Contains(string(page), "`"+figure.Name+"`"), figure.Name)
	}
}
