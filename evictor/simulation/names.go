package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/zone"
)

// NodeName returns the name of the zone's i-th node, counted from 0: the zone's name and the number, with as many
// digits as the last node needs, at least three.
func (z *Zone) NodeName(i int) string {
	digits := max(3, len(strconv.Itoa(z.Nodes-1)))
	return fmt.Sprintf("%s-%0*d", z.Name, digits, i)
}

// podNameOf returns the name of a generated node's i-th pod, counted from 0. Its ReplicaSet has the zone's name.
func podNameOf(node string, i int) string { return node + "-p" + strconv.Itoa(i) }

// daemonSetPodName returns the name of a generated node's i-th DaemonSet pod, counted from 0.
func daemonSetPodName(node string, i int) string { return node + "-ds" + strconv.Itoa(i) }

// splitPodName splits namespace/name. Without a slash the namespace is default.
func splitPodName(s string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(s, "/"); ok {
		return namespace, name
	}
	return "default", s
}

// joinPodName returns the name of a pod in timelines: without its namespace if that is default.
func joinPodName(namespace, name string) string {
	if namespace == "default" {
		return name
	}
	return namespace + "/" + name
}

// resolveZone finds the zone that a reference means: region:zone means exactly that, anything else is the value of the
// zone label. It is an error if no zone or more than one matches.
func resolveZone(ref string, exist []zone.Key) (zone.Key, error) {
	region, name, qualified := strings.Cut(ref, ":")
	var found []zone.Key
	for _, k := range exist {
		if qualified && k == (zone.Key{Region: region, Zone: name}) {
			return k, nil
		}
		if k.Zone == ref {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return zone.Key{}, fmt.Errorf("zone %q does not exist%s", ref, thereAre(exist))
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, k := range found {
		names[i] = strconv.Quote(k.String())
	}
	return zone.Key{}, fmt.Errorf("zone %q is ambiguous: write one of %s", ref, strings.Join(names, ", "))
}

// thereAre lists zones, the first by name.
func thereAre(zones []zone.Key) string {
	const most = 20
	var names []string
	for _, key := range zones {
		if key != (zone.Key{}) {
			names = append(names, strconv.Quote(strings.TrimPrefix(key.String(), ":")))
		}
	}
	slices.Sort(names)
	switch more := len(names) - most; {
	case len(names) == 0:
		return ": no node has the label of a zone"
	case more > 0:
		return fmt.Sprintf(": the zones are %s and %d more", strings.Join(names[:most], ", "), more)
	default:
		return ": the zones are " + strings.Join(names, ", ")
	}
}

func inDefault(namespace string) string { return cmp.Or(namespace, v1.NamespaceDefault) }

// Brief formats a duration as texts of this package do: 1m30s, 2h, 3.5 days.
func Brief(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
