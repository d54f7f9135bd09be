package scenario

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ZoneKey names a failure domain by the values of its two labels. It converts to and from zone.Key.
type ZoneKey struct{ Region, Zone string }

// String returns region:zone, as in timelines and in references.
func (k ZoneKey) String() string { return k.Region + ":" + k.Zone }

// Compare orders keys by region, then zone, bytewise.
func (k ZoneKey) Compare(other ZoneKey) int {
	return cmp.Or(cmp.Compare(k.Region, other.Region), cmp.Compare(k.Zone, other.Zone))
}

// Key returns the generated zone's key.
func (z *Zone) Key() ZoneKey { return ZoneKey{z.Region, z.Name} }

// NodeName returns the name of the zone's i-th node, counted from 0: the zone's name and the number, with as many
// digits as the last node needs, at least three.
func (z *Zone) NodeName(i int) string {
	digits := max(3, len(strconv.Itoa(z.Nodes-1)))
	return fmt.Sprintf("%s-%0*d", z.Name, digits, i)
}

// PodName returns the name of a generated node's i-th pod, counted from 0. Its ReplicaSet has the zone's name.
func PodName(node string, i int) string { return node + "-p" + strconv.Itoa(i) }

// DaemonSetPodName returns the name of a generated node's i-th DaemonSet pod, counted from 0.
func DaemonSetPodName(node string, i int) string { return node + "-ds" + strconv.Itoa(i) }

// SplitPodName splits namespace/name. Without a slash the namespace is default.
func SplitPodName(s string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(s, "/"); ok {
		return namespace, name
	}
	return "default", s
}

// JoinPodName returns the name of a pod in timelines: without its namespace if that is default.
func JoinPodName(namespace, name string) string {
	if namespace == "default" {
		return name
	}
	return namespace + "/" + name
}

// ResolveZone finds the zone that a reference means: region:zone means exactly that, anything else is the value of the
// zone label. It is an error if no zone or more than one matches.
func ResolveZone(ref string, exist []ZoneKey) (ZoneKey, error) {
	region, name, qualified := strings.Cut(ref, ":")
	var found []ZoneKey
	for _, k := range exist {
		if qualified && k == (ZoneKey{region, name}) {
			return k, nil
		}
		if k.Zone == ref {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return ZoneKey{}, fmt.Errorf("zone %q does not exist", ref)
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, k := range found {
		names[i] = strconv.Quote(k.String())
	}
	return ZoneKey{}, fmt.Errorf("zone %q is ambiguous: write one of %s", ref, strings.Join(names, ", "))
}
