package zone

// The labels of both generations, as literals: k8s.io/api renamed its constants between versions.
const (
	labelRegion           = "topology.kubernetes.io/region"
	labelZone             = "topology.kubernetes.io/zone"
	labelDeprecatedRegion = "failure-domain.beta.kubernetes.io/region"
	labelDeprecatedZone   = "failure-domain.beta.kubernetes.io/zone"
)

const labelExcludeDisruption = "node.kubernetes.io/exclude-disruption"

// Key names a failure domain. It is comparable. The zero Key is the zone of all nodes without zone labels. Domains of
// another kind fit too: Key{Zone: "rack-7"}, or a namespace as Region and a pool's name as Zone.
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

// Excluded reports whether the labels keep a node out of its zone's counts: whether they have
// node.kubernetes.io/exclude-disruption, with any value. Such a node is still watched, tainted and evicted from.
func Excluded(labels map[string]string) bool {
	_, ok := labels[labelExcludeDisruption]
	return ok
}

// String returns region:zone, for logs and files. Two different keys may give the same string if a part holds a colon,
// so compare Keys, not strings.
func (k Key) String() string { return k.Region + ":" + k.Zone }
