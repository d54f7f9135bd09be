package simulation

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The names of figures are those of their fields, so that there is one for each.
func TestFiguresAreNamedLikeTheirFields(t *testing.T) {
	for _, of := range []any{Report{}, ZoneReport{}, WorkloadReport{}, BudgetReport{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			name, ok := field.Tag.Lookup("figure")
			if !ok {
				continue
			}
			want := strings.ToLower(field.Name[:1]) + field.Name[1:]
			if field.Type == reflect.TypeFor[time.Duration]() {
				want += "Seconds"
			}
			require.Equal(t, want, name)
		}
	}
	require.Contains(t, new(Report).Figures(), Figure{"evictionDelayMedianSeconds", 0})
	require.Contains(t, (&WorkloadReport{Level: Level{LowestReadyShare: 0.5}}).Figures(), Figure{"lowestReadyShare", 0.5})
}
