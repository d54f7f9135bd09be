//go:build go1.25

package clientgo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAWriteEnds in its time, and soon after what it was begun for.
func TestAWriteEnds(t *testing.T) {
	for name, row := range map[string]struct{ end, want time.Duration }{
		"in its time":              {end: time.Hour, want: writeTimeout},
		"after the end":            {end: 10 * time.Second, want: 10*time.Second + FinishWithin},
		"in its time all the same": {end: writeTimeout - time.Second, want: writeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), row.end)
				defer cancel()
				began := time.Now()
				write, done := finishing(ctx)
				defer done()
				<-write.Done()
				require.Equal(t, row.want, time.Since(began))
			})
		})
	}
}
