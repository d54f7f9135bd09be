package tas

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// TestEvictkitMeasuresTheOrderOfTolerations has a pod that Kubernetes evicts after a minute: the first matching toleration
// counts.
func TestEvictkitMeasuresTheOrderOfTolerations(t *testing.T) {
	minute := int64(60)
	var set kueue.PodSet
	set.Template.Spec.Tolerations = []corev1.Toleration{
		{Key: "maintenance", Operator: corev1.TolerationOpExists, TolerationSeconds: &minute},
		{Operator: corev1.TolerationOpExists},
	}
	taints := []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	untolerated, temporarily := classifyTaints(t.Context(), taints, []kueue.PodSet{set})
	switch {
	case len(untolerated) > 0:
		t.Log("MEASURED for a minute, then for ever: not tolerated")
	case len(temporarily) > 0:
		t.Log("MEASURED for a minute, then for ever: tolerated for a time")
	default:
		t.Log("MEASURED for a minute, then for ever: tolerated for ever")
	}
}
