package health

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func FuzzDeadlinesSnapshot(f *testing.F) {
	f.Add([]byte(`{"version":1,"keys":[{"key":"a","silent":9223372036854775807,"grace":9223372036854775807},{"key":"b","silent":3,"grace":60000000000,"handedOut":true}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s DeadlinesSnapshot[string]
		if json.Unmarshal(text, &s) != nil {
			return
		}
		d, err := NewDeadlines[string](DeadlinesConfig{Grace: time.Minute, Clock: testingclock.NewFakePassiveClock(epoch)})
		require.NoError(t, err)
		if d.Restore(s) != nil {
			require.Zero(t, d.Len())
			return
		}
		require.ElementsMatch(t, s.Keys, d.Snapshot().Keys)
		for range d.Expired() {
			continue
		}
		d.Freeze()
		d.Thaw()
		d.Reset()
		d.Next()
		for _, k := range s.Keys {
			d.Get(k.Key)
			d.SetGrace(k.Key, time.Second)
			d.Beat(k.Key)
			require.True(t, d.Forget(k.Key))
		}
		require.Zero(t, d.Len())
	})
}

// A tracker that was used before knows no more of its own gaps than of the original's.
func TestRestoreIntoAnEmptiedTracker(t *testing.T) {
	d, clk := deadlines(t)
	d.Beat("x")
	clk.SetTime(at(60))
	d.Next()
	require.True(t, d.Forget("x"))
	require.NoError(t, d.Restore(DeadlinesSnapshot[string]{Version: 1, Keys: []KeySnapshot[string]{{Key: "a", Silent: 9 * time.Second, Grace: 10 * time.Second}}}))
	clk.SetTime(at(75))
	require.Equal(t, 9*time.Second, d.Snapshot().Keys[0].Silent)
}
