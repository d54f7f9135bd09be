package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercentiles(t *testing.T) {
	for n := 1; n <= 400; n++ {
		var all []time.Duration
		for i := range n {
			all = append(all, time.Duration(i+1))
		}
		var d Report
		d.delayed(all)
		for share, got := range map[int]time.Duration{50: d.EvictionDelayMedian, 99: d.EvictionDelayP99} {
			least := time.Duration(1) // that at least so many of a hundred do not exceed
			for int(least)*100 < n*share {
				least++
			}
			require.Equal(t, least, got, "%d of %d", share, n)
		}
	}
}
