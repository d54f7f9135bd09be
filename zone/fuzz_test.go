package zone

import (
	"strings"
	"testing"

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
	f.Add(byte(15), "", "", "new", "n", byte(13), "old", "", "new", "n")
	f.Add(byte(14), "", "o", "new", "n", byte(0), "", "", "", "")
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
		require.Equal(t, k1.Region+":"+k1.Zone, k1.String())
		if k1 != (Key{}) {
			require.Equal(t, upstreamKey(one), k1.Region+":\x00:"+k1.Zone)
		}
		require.False(t, Excluded(one))
		one["node.kubernetes.io/exclude-disruption"] = a1
		require.True(t, Excluded(one))
		require.Equal(t, k1, KeyOf(one))
	})
}
