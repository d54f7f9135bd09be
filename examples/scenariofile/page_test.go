package scenariofile

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/scenario"
)

// The page says what each figure is that an expectation may name.
func TestThePageExplainsEachFigure(t *testing.T) {
	page, err := os.ReadFile("SCENARIO.md")
	require.NoError(t, err)
	for _, figure := range slices.Concat(scenario.ClusterFigures, scenario.ZoneFigures, scenario.WorkloadFigures, scenario.BudgetFigures) {
		require.Contains(t, string(page), "`"+figure+"`")
	}
}
