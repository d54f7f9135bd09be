package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
)

// detachAfter is how long the attach-detach controller waits for a node that is silent or gone to unmount a volume,
// after the object of the last pod that uses it is gone.
const detachAfter = 6 * time.Minute

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
	indexed bool // the load index knows it
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

// AddVolumeObject adds a PersistentVolume. It fails if the name is taken.
func (c *cluster) AddVolumeObject(object *v1.PersistentVolume) error {
	if _, taken := c.volumes[object.Name]; taken {
		return fmt.Errorf("persistent volume %s already exists", object.Name)
	}
	c.volumes[object.Name] = object
	return nil
}

// AddClaimObject adds a PersistentVolumeClaim. It fails if the name is taken.
func (c *cluster) AddClaimObject(object *v1.PersistentVolumeClaim) error {
	id := c.id(evictor.PodKey{Namespace: object.Namespace, Name: object.Name})
	if c.claims[id].declared {
		return fmt.Errorf("persistent volume claim %s/%s already exists", object.Namespace, object.Name)
	}
	c.claims[id] = claim{object.Spec.VolumeName, slices.Contains(object.Spec.AccessModes, "ReadWriteOncePod"), true}
	return nil
}

// claimant is a pod whose claims are looked up when all objects are known.
type claimant struct {
	pod       podID
	claims    []string
	ephemeral bool
}

// claimsOf returns the names of a pod's claims, and whether it also has volumes that end with the pod.
func claimsOf(spec *v1.PodSpec) (names []string, ephemeral bool) {
	for i := range spec.Volumes {
		if claim := spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
		ephemeral = ephemeral || someLater(&spec.Volumes[i].VolumeSource, "Ephemeral")
	}
	return names, ephemeral
}

// awaitClaims notes a pod whose claims may come later in the files.
func (c *cluster) awaitClaims(object *v1.Pod) {
	if names, ephemeral := claimsOf(&object.Spec); len(names) > 0 || ephemeral {
		c.claimants = append(c.claimants, claimant{c.id(evictor.PodKey{Namespace: object.Namespace, Name: object.Name}), names, ephemeral})
	}
}

// withVolumes returns what a pod needs together with its volumes, and whether all its claims are bound to volumes that
// are known.
func (c *cluster) withVolumes(n *needs, space uint32, claims []string) (with *needs, all bool) {
	var rules []*nodeRule
	var zones []zoneRule
	var key struct {
		Needs    string
		Affinity []*v1.NodeSelector
		Zones    [][]string
	}
	var alone []podID
	attached, all := false, true
	for _, name := range claims {
		of := c.claims[podID{space, name}]
		volume := c.volumes[of.volume]
		if volume == nil {
			all = false
			continue
		}
		if of.onePod {
			alone = append(alone, podID{space, name})
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
	rule := c.volumeRule(keyOf(key), rules, zones)
	shared := volumeNeeds{n, rule, keyOf([]any{space, alone == nil, names(alone)}), attached}
	with = c.withVolume[shared]
	if with == nil {
		amended := *n
		amended.volumes, amended.alone, amended.attached = rule, alone, attached
		with = &amended
		c.withVolume[shared] = with
	}
	return with, all
}

// volumeNeeds identifies equal needs of pods with volumes.
type volumeNeeds struct {
	needs    *needs
	rule     *volumeRule
	alone    string
	attached bool
}

func names(of []podID) (all []string) {
	for _, id := range of {
		all = append(all, id.name)
	}
	return all
}

// volumeRule returns the shared form of a rule; nil if any node will do.
func (c *cluster) volumeRule(key string, nodes []*nodeRule, zones []zoneRule) *volumeRule {
	if len(nodes)+len(zones) == 0 {
		return nil
	}
	rule := c.volumeRules[key]
	if rule == nil {
		// A few rules, such as zones, group the nodes. Volumes of single nodes would make too many groups.
		rule = &volumeRule{key: key, nodes: nodes, zones: zones, indexed: len(c.volumeRules) < mostDomains}
		c.volumeRules[key] = rule
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
func (r *volumeRule) reach(n *node) bool {
	if r == nil {
		return true
	}
	for _, rule := range r.nodes {
		if !rule.selects(n) {
			return false
		}
	}
	if !slices.ContainsFunc(volumeLabels[:], func(l struct{ label, replaced string }) bool { _, ok := n.labels[l.label]; return ok }) {
		return true // a cluster of one zone
	}
	for i := range r.zones {
		if !r.zones[i].has(n) {
			return false
		}
	}
	return true
}

func (z *zoneRule) has(n *node) bool {
	value, ok := n.labels[z.label]
	for i := 0; i < len(volumeLabels) && !ok; i++ {
		if l := &volumeLabels[i]; l.label == z.label {
			value, ok = n.labels[l.replaced]
		}
	}
	return ok && slices.Contains(z.values, value)
}

// uses counts the claims that only one pod may use, of a pod that is added (+1) or removed (-1).
func (c *cluster) uses(s *podSpec, by int) {
	if s.needs == nil {
		return
	}
	for _, id := range s.needs.alone {
		c.used[id] += by
		c.usedVersion++
	}
}

// mayUse says whether no other pod uses a claim of this one that only one pod may use.
func (c *cluster) mayUse(s *podSpec) bool {
	return s.needs == nil || !slices.ContainsFunc(s.needs.alone, func(id podID) bool { return c.used[id] > 0 })
}

// reaches says whether the volumes of a pod let it be on a node. The load index knows most of that.
func (c *cluster) reaches(n *node, s *podSpec) bool {
	return s.needs == nil || s.needs.volumes == nil || s.needs.volumes.indexed || s.needs.volumes.reach(n)
}

// detached returns how long after a pod's object is gone its volumes can be attached to another node. A node that is out
// of service lets go at once.
func (c *cluster) detached(p *pod) time.Duration {
	n := &c.nodes[p.node]
	if p.spec.needs == nil || !p.spec.needs.attached || !n.failed && !n.deleted || c.outOfService[p.node] {
		return 0
	}
	return detachAfter
}
