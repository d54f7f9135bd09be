package zone

import "cmp"

// The labels of both generations, by value: the names of k8s.io/api's constants changed between its versions.
const (
	labelRegion           = "topology.kubernetes.io/region"
	labelZone             = "topology.kubernetes.io/zone"
	labelDeprecatedRegion = "failure-domain.beta.kubernetes.io/region"
	labelDeprecatedZone   = "failure-domain.beta.kubernetes.io/zone"
)

// LabelExcludeDisruption keeps a node out of its zone's counts, whatever its value. Such a node is
// still watched, tainted and evicted from.
const LabelExcludeDisruption = "node.kubernetes.io/exclude-disruption"

// Key names a failure domain. It is comparable; the zero Key is the zone of all nodes without labels.
type Key struct {
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// KeyOf reads the key from a node's labels. Each part comes from its deprecated label
// (failure-domain.beta.kubernetes.io/…) when that is present, even with an empty value, else from
// topology.kubernetes.io/…, in the precedence that kube-controller-manager has. Nil labels give the zero Key.
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

// Excluded says whether the labels keep a node out of its zone's counts.
func Excluded(labels map[string]string) bool {
	_, ok := labels[LabelExcludeDisruption]
	return ok
}

// ZoneKey is the string that Kubernetes' own code has in place of a Key, as GetZoneKey of k8s.io/component-helpers/node/topology
// gives it for such a node: region, a colon, a zero byte, a colon, zone ("region:\x00:zone"), and "" for the zero
// Key. It is for those who keep domains under these strings, in metrics or a map of their own.
func (k Key) ZoneKey() string {
	if k == (Key{}) {
		return ""
	}
	return k.Region + ":\x00:" + k.Zone
}

// String is region:zone, for people and files; two different keys may read alike when their parts hold
// colons, so compare Keys and not strings.
func (k Key) String() string { return k.Region + ":" + k.Zone }

// Compare orders keys by region, then zone, bytewise.
func (k Key) Compare(other Key) int {
	if c := cmp.Compare(k.Region, other.Region); c != 0 {
		return c
	}
	return cmp.Compare(k.Zone, other.Zone)
}
