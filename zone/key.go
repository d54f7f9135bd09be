package zone

import "cmp"

// The labels of both generations, as literals: k8s.io/api renamed its constants between versions.
const (
	labelRegion           = "topology.kubernetes.io/region"
	labelZone             = "topology.kubernetes.io/zone"
	labelDeprecatedRegion = "failure-domain.beta.kubernetes.io/region"
	labelDeprecatedZone   = "failure-domain.beta.kubernetes.io/zone"
)

// LabelExcludeDisruption keeps a node out of its zone's counts, whatever its value. Such a node is
// still watched, tainted and evicted from.
const LabelExcludeDisruption = "node.kubernetes.io/exclude-disruption"

// Key names a failure domain. It is comparable; the zero Key is the zone of all nodes without zone labels.
type Key struct {
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// KeyOf reads the key from a node's labels. Each part comes from its deprecated label
// (failure-domain.beta.kubernetes.io/…) if that is present, even with an empty value, else from
// topology.kubernetes.io/…. kube-controller-manager has the same precedence. Nil labels give the zero Key.
func KeyOf(labels map[string]string) Key {
	return Key{
		Region: first(labels, labelDeprecatedRegion, labelRegion),
		Zone:   first(labels, labelDeprecatedZone, labelZone),
	}
}

func first(labels map[string]string, deprecated, stable string) string {
	if value, ok := labels[deprecated]; ok {
		return value
	}
	return labels[stable]
}

// Excluded reports whether the labels keep a node out of its zone's counts (see LabelExcludeDisruption).
func Excluded(labels map[string]string) bool {
	_, ok := labels[LabelExcludeDisruption]
	return ok
}

// ZoneKey returns the string that Kubernetes' own code uses in place of a Key, as returned by GetZoneKey of
// k8s.io/component-helpers/node/topology: region, colon, zero byte, colon, zone ("region:\x00:zone"), or "" for the
// zero Key. Use it where metrics or maps of your own have such strings as keys.
func (k Key) ZoneKey() string {
	if k == (Key{}) {
		return ""
	}
	return k.Region + ":\x00:" + k.Zone
}

// String returns region:zone, for logs and files. Two different keys may give the same string if a part holds a
// colon, so compare Keys, not strings.
func (k Key) String() string { return k.Region + ":" + k.Zone }

// Compare orders keys by region, then zone, bytewise.
func (k Key) Compare(other Key) int {
	if c := cmp.Compare(k.Region, other.Region); c != 0 {
		return c
	}
	return cmp.Compare(k.Zone, other.Zone)
}
