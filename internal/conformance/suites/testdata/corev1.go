// Package corev1 has the names of component-helpers/scheduling/corev1 that its tests use, on evictkit's taints.
package corev1

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/taints"
)

type taintsFilterFunc func(*v1.Taint) bool

func FindMatchingUntoleratedTaint(_ klog.Logger, all []v1.Taint, tolerations []v1.Toleration, filter taintsFilterFunc, numeric bool) (v1.Taint, bool) {
	var some []v1.Taint
	for _, t := range all {
		if filter == nil || filter(&t) {
			some = append(some, t)
		}
	}
	return taints.Untolerated(some, tolerations, numeric)
}
