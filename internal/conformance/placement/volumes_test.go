package placement

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const claimNames = 6 // in each namespace, some of which do not exist

// volumes adds volumes and claims. Some claims are not bound, or to a volume that does not exist.
func (g generator) volumes(w *world) {
	for i := range 12 {
		w.volumes = append(w.volumes, g.volume(fmt.Sprint("volume-", i)))
	}
	for _, namespace := range namespaces {
		for i := range claimNames - 1 {
			c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("claim-", i)}}
			c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{pick(g, v1.ReadWriteOnce, v1.ReadWriteMany, v1.ReadWriteOncePod)}
			if !g.one(10) {
				c.Spec.VolumeName = fmt.Sprint("volume-", g.IntN(13))
				c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
			}
			w.claims = append(w.claims, c)
		}
	}
	for _, v := range w.volumes {
		must(w.simulated.Add(v.DeepCopy()))
	}
	for _, c := range w.claims {
		must(w.simulated.Add(c.DeepCopy()))
	}
}

func (g generator) volume(name string) *v1.PersistentVolume {
	v := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if g.one(60) {
		v.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{g.nodeTerm()}}}
		v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchFields = nil
		if g.one(70) { // the usual case
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions = []v1.NodeSelectorRequirement{{
				Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: g.some(zones),
			}}
		}
	}
	for _, label := range []string{v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone, v1.LabelTopologyRegion} {
		if g.one(15) {
			v.Labels[label] = pick(g, "a", "b", "c", "a__b", "b__c", "a__", "")
		}
	}
	return v
}

func (g generator) podVolumes() (all []v1.Volume) {
	for i := range 1 + g.IntN(2) {
		v := v1.Volume{Name: fmt.Sprint("v", i)}
		v.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint("claim-", g.IntN(claimNames))}
		all = append(all, v)
	}
	return all
}

// withoutUnbound removes a pod's volumes whose claims are not bound to one that exists.
func (w *world) withoutUnbound(p *v1.Pod) {
	p.Spec.Volumes = slices.DeleteFunc(p.Spec.Volumes, func(v v1.Volume) bool {
		bound := slices.ContainsFunc(w.claims, func(c *v1.PersistentVolumeClaim) bool {
			return c.Namespace == p.Namespace && c.Name == v.PersistentVolumeClaim.ClaimName &&
				slices.ContainsFunc(w.volumes, func(v *v1.PersistentVolume) bool { return v.Name == c.Spec.VolumeName })
		})
		return !bound
	})
}
