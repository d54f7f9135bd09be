package placement

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/later"
)

// claimID names a PersistentVolumeClaim.
type claimID struct{ Namespace, Name string }

// claim is a PersistentVolumeClaim.
type claim struct {
	volume   string // that it is bound to; empty if none
	onePod   bool   // only one pod may use it
	declared bool
}

// volumeRule is where the volumes of a pod are, all of which must be within reach. Pods share it.
type volumeRule struct {
	key     string
	nodes   []*nodeRule
	zones   []zoneRule
	indexed bool // the index knows it
}

// zoneRule is a label of a volume, which lists the zones or regions in which it is.
type zoneRule struct {
	label  string
	values []string
}

// The labels of zones and regions, with those that replace old ones.
var volumeLabels = [...]struct{ label, replaced string }{
	{"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
	{"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
	{"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
	{"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
}

// AddVolume adds a PersistentVolume. It fails if the name is taken.
func (f *Filters) AddVolume(object *v1.PersistentVolume) error {
	if _, taken := f.volumes[object.Name]; taken {
		return fmt.Errorf("persistent volume %s already exists", object.Name)
	}
	f.volumes[object.Name] = object
	return nil
}

// AddClaim adds a PersistentVolumeClaim. It fails if the name is taken.
func (f *Filters) AddClaim(object *v1.PersistentVolumeClaim) error {
	id := claimID{object.Namespace, object.Name}
	if f.claims[id].declared {
		return fmt.Errorf("persistent volume claim %s/%s already exists", object.Namespace, object.Name)
	}
	f.claims[id] = claim{object.Spec.VolumeName, slices.Contains(object.Spec.AccessModes, "ReadWriteOncePod"), true}
	return nil
}

// ClaimsOf returns the names of a pod's claims, and whether it also has volumes that end with the pod.
func ClaimsOf(spec *v1.PodSpec) (names []string, ephemeral bool) {
	for i := range spec.Volumes {
		if claim := spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
		ephemeral = ephemeral || later.Some(&spec.Volumes[i].VolumeSource, "Ephemeral")
	}
	return names, ephemeral
}

// WithVolumes returns what a pod needs together with its volumes, and whether all its claims are bound to volumes that
// are known.
func (f *Filters) WithVolumes(n *Needs, namespace string, claims []string) (with *Needs, all bool) {
	var rules []*nodeRule
	var zones []zoneRule
	var key struct {
		Needs    string
		Affinity []*v1.NodeSelector
		Zones    [][]string
	}
	var alone []claimID
	attached, all := false, true
	for _, name := range claims {
		of := f.claims[claimID{namespace, name}]
		volume := f.volumes[of.volume]
		if volume == nil {
			all = false
			continue
		}
		if of.onePod {
			alone = append(alone, claimID{namespace, name})
		}
		attached = attached || attachesOnce(volume)
		if volume.Spec.NodeAffinity != nil && volume.Spec.NodeAffinity.Required != nil {
			rules = append(rules, newNodeRule(nil, volume.Spec.NodeAffinity.Required, nil))
			key.Affinity = append(key.Affinity, volume.Spec.NodeAffinity.Required)
		}
		for _, l := range volumeLabels {
			if values := zonesOf(volume.Labels[l.label]); len(values) > 0 {
				zones = append(zones, zoneRule{l.label, values})
				key.Zones = append(key.Zones, append([]string{l.label}, values...))
			}
		}
	}
	if len(rules)+len(zones)+len(alone) == 0 && !attached {
		return n, all
	}
	rule := f.volumeRule(keyOf(key), rules, zones)
	shared := volumeNeeds{n, rule, keyOf([]any{namespace, alone}), attached}
	with = f.withVolume[shared]
	if with == nil {
		amended := *n
		amended.volumes, amended.alone, amended.attached = rule, alone, attached
		with = &amended
		f.withVolume[shared] = with
	}
	return with, all
}

// volumeNeeds identifies equal needs of pods with volumes.
type volumeNeeds struct {
	needs    *Needs
	rule     *volumeRule
	alone    string
	attached bool
}

// volumeRule returns the shared form of a rule; nil if any node will do.
func (f *Filters) volumeRule(key string, nodes []*nodeRule, zones []zoneRule) *volumeRule {
	if len(nodes)+len(zones) == 0 {
		return nil
	}
	rule := f.volumeRules[key]
	if rule == nil {
		// A few rules, such as zones, group the nodes. Volumes of single nodes would make too many groups.
		rule = &volumeRule{key: key, nodes: nodes, zones: zones, indexed: len(f.volumeRules) < mostDomains}
		f.volumeRules[key] = rule
	}
	return rule
}

// zonesOf splits a label of several zones. If one of them is empty the label plays no part.
func zonesOf(label string) []string {
	var all []string
	for _, zone := range strings.Split(label, "__") {
		zone = strings.TrimSpace(zone)
		if zone == "" {
			return nil
		}
		all = append(all, zone)
	}
	return all
}

// attachesOnce says whether a volume is attached to its node, and to no other at the same time. Network file systems
// and local disks are not attached.
func attachesOnce(volume *v1.PersistentVolume) bool {
	s := &volume.Spec
	if s.NFS != nil || s.Local != nil || s.HostPath != nil || s.CephFS != nil || s.Glusterfs != nil || s.AzureFile != nil {
		return false
	}
	return len(s.AccessModes) > 0 && !slices.Contains(s.AccessModes, v1.ReadWriteMany) && !slices.Contains(s.AccessModes, v1.ReadOnlyMany)
}

// reach says whether all volumes are within reach of a node. nil is no volume.
func (r *volumeRule) reach(n *NodeInfo) bool {
	if r == nil {
		return true
	}
	for _, rule := range r.nodes {
		if !rule.selects(n) {
			return false
		}
	}
	if !slices.ContainsFunc(volumeLabels[:], func(l struct{ label, replaced string }) bool { _, ok := n.Labels[l.label]; return ok }) {
		return true // a cluster of one zone
	}
	for i := range r.zones {
		if !r.zones[i].has(n) {
			return false
		}
	}
	return true
}

func (z *zoneRule) has(n *NodeInfo) bool {
	value, ok := n.Labels[z.label]
	for i := 0; i < len(volumeLabels) && !ok; i++ {
		if l := &volumeLabels[i]; l.label == z.label {
			value, ok = n.Labels[l.replaced]
		}
	}
	return ok && slices.Contains(z.values, value)
}

// uses counts the claims that only one pod may use, of a pod that is added (+1) or removed (-1).
func (f *Filters) uses(s *Spec, by int) {
	for _, id := range s.needs().alone {
		f.used[id] += by
		f.usedVersion++
	}
}

// mayUse says whether no other pod uses a claim of this one that only one pod may use.
func (f *Filters) mayUse(s *Spec) bool {
	return !slices.ContainsFunc(s.needs().alone, func(id claimID) bool { return f.used[id] > 0 })
}

// reaches says whether the volumes of a pod let it be on a node. The index knows most of that.
func (f *Filters) reaches(n *NodeInfo, s *Spec) bool {
	return s.needs().volumes == nil || s.Needs.volumes.indexed || s.Needs.volumes.reach(n)
}

// Attached says whether the pod has a volume that cannot be attached to two nodes.
func (s *Spec) Attached() bool { return s.needs().attached }
