package pods

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// A pod of a node that has our taint since 0 and one of others since 5, neither of which it tolerates. It leaves because of ours,
// which is the first, but for what holds ours alone back.
func TestWhoseTaintEvicts(t *testing.T) {
	ours, others := taint(v1.TaintNodeUnreachable, "", 0), taint("drain", "", 5)
	for name, row := range map[string]struct {
		now     int
		permits Permits
		evict   bool
		own     bool
		wait    time.Duration
		delay   Delay
	}{
		"nothing holds it back":            {10, Permits{}, true, true, 0, 0},
		"nothing, and others count later":  {4, Permits{}, true, true, 0, 0},
		"ours must be watched for long":    {10, Permits{Unsettled: 1}, true, false, 0, 0},
		"until others count":               {4, Permits{Unsettled: time.Minute}, false, true, time.Second, NotSettled},
		"or that is sooner":                {4, Permits{Unsettled: 1}, false, true, 1, NotSettled},
		"ours waits for its turn":          {10, Permits{Turn: true, Again: 1}, true, false, 0, 0},
		"ours waits for its policy":        {10, Permits{Waits: true, Again: 1}, true, false, 0, 0},
		"no harm is permitted":             {10, Permits{NoHarm: true, Ask: 3}, false, false, 3, MayHarm},
		"no write is":                      {10, Permits{NoWrite: true, Ask: 3}, false, false, 3, MayWrite},
		"neither turn nor write":           {4, Permits{Turn: true, NoWrite: true, Ask: 3, Again: 7}, false, true, 7, Overdue},
		"neither policy nor turn":          {4, Permits{Waits: true, Turn: true, Again: 7}, false, true, 7, Policy},
		"no harm before any policy's word": {4, Permits{NoHarm: true, Waits: true, Ask: 3, Again: 7}, false, true, 3, MayHarm},
	} {
		seen := Seen{{Taint: ours, Start: at(0)}, {Taint: others, Start: at(5)}}
		a := seen.Check(taints.Matcher{}, Pod{Bound: at(-100)}, taints.OwnNoExecute, true, row.permits, at(row.now))
		require.Equal(t, row.evict, a.Evict, name)
		require.Equal(t, row.own, a.Own, name)
		require.Equal(t, row.own, taints.OwnNoExecute(a.Why.Taint), name)
		require.Equal(t, row.wait, a.Wait, name)
		require.Equal(t, row.delay, a.Delay, name)
	}
}
