package zone

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// upstreamKey is upstream's GetZoneKey, written from its description: the parts joined by three bytes.
func upstreamKey(labels map[string]string) string {
	region, ok := labels[betaRegion]
	if !ok {
		region = labels["topology.kubernetes.io/region"]
	}
	zone, ok := labels[betaZone]
	if !ok {
		zone = labels["topology.kubernetes.io/zone"]
	}
	if region == "" && zone == "" {
		return ""
	}
	return region + ":\x00:" + zone
}

// Two sets of labels have the same Key exactly when upstream gives them the same string.
func FuzzKeyOf(f *testing.F) {
	f.Add(byte(0), "", "", "", "", byte(0), "", "", "", "")
	f.Add(byte(3), "r", "z", "", "", byte(12), "", "", "r", "z")
	f.Add(byte(15), "r", "", "s", "z", byte(15), "r", "y", "s", "z")
	f.Add(byte(4), "", "", "a", "", byte(8), "", "", "", "a")
	f.Add(byte(12), "", "", "a:", "b", byte(12), "", "", "a", ":b")
	labelsOf := func(present byte, values ...string) map[string]string {
		labels := map[string]string{}
		for i, key := range []string{betaRegion, betaZone, region, zoneLabel} {
			if present&(1<<i) != 0 {
				labels[key] = values[i]
			}
		}
		return labels
	}
	f.Fuzz(func(t *testing.T, p1 byte, a1, b1, c1, d1 string, p2 byte, a2, b2, c2, d2 string) {
		if strings.Contains(a1+b1+c1+d1+a2+b2+c2+d2, "\x00") {
			return // no label value can hold it, and upstream's string would be ambiguous
		}
		one, two := labelsOf(p1, a1, b1, c1, d1), labelsOf(p2, a2, b2, c2, d2)
		k1, k2 := KeyOf(one), KeyOf(two)
		require.Equal(t, upstreamKey(one) == upstreamKey(two), k1 == k2)
		require.Equal(t, k1 == k2, k1.Compare(k2) == 0)
		require.Equal(t, k1.Region+":"+k1.Zone, k1.String())
		require.Equal(t, upstreamKey(one), k1.ZoneKey())
		require.False(t, Excluded(one))
		one[LabelExcludeDisruption] = a1
		require.True(t, Excluded(one))
		require.Equal(t, k1, KeyOf(one))
	})
}

// Any input is either refused as a whole, or restores a tracker that works and gives the same snapshot again.
func FuzzSnapshot(f *testing.F) {
	tracker, err := New[string](Config[Key]{Policy: PolicyFunc(patient), Compare: Key.Compare})
	require.NoError(f, err)
	setAll(tracker, zoneA, 5, 3)
	tracker.EvaluateAt(epoch)
	setAll(tracker, zoneA, 5, 0)
	setAll(tracker, zoneB, 2, 2)
	tracker.EvaluateAt(epoch.Add(time.Second))
	tracker.Set("new", zoneC, Member{Excluded: true, Identity: "u"})
	text, err := json.Marshal(tracker.SnapshotAt(epoch.Add(2 * time.Second)))
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{"version":1,"allDown":true,"zones":[{"zone":{},"state":"FullDisruption","before":"Normal","pending":"Cancel","badFor":9223372036854775807}]}`))
	f.Add([]byte(`{"version":1,"zones":[{"zone":{},"state":"Normal","before":"Initial","rate":1e308,"stateFor":9223372036854775807,"askAfter":9223372036854775807}]}`))
	f.Add([]byte(`{"version":2,"zones":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Snapshot[string, Key]
		if json.Unmarshal(text, &s) != nil {
			return
		}
		for _, policy := range policies {
			tracker, err := NewTracker[string](policy.policy)
			require.NoError(t, err)
			setAll(tracker, zoneA, 3, 1)
			tracker.EvaluateAt(epoch)
			before := tracker.SnapshotAt(epoch)
			if tracker.RestoreAt(s, epoch) != nil {
				require.Equal(t, before, tracker.SnapshotAt(epoch))
				return
			}
			again := tracker.SnapshotAt(epoch)
			require.NoError(t, tracker.RestoreAt(again, epoch), "it accepts its own snapshot")
			require.Equal(t, again, tracker.SnapshotAt(epoch))
			checkInvariants(t, &tracker.domains)
			for _, c := range tracker.EvaluateAt(epoch.Add(time.Minute)) {
				require.True(t, c.To >= Initial && c.To <= FullDisruption && validRate(c.Rate))
			}
			require.Nil(t, tracker.EvaluateAt(epoch.Add(time.Minute)))
			checkInvariants(t, &tracker.domains)
			for _, z := range tracker.SnapshotAt(epoch).Zones {
				require.False(t, z.New)
			}
		}
	})
}
