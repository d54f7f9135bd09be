package simulation

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/later"
)

// firstOrdinal returns the ordinal of a StatefulSet's first pod.
func firstOrdinal(set *appsv1.StatefulSet) int {
	if !later.Some(&set.Spec, "Ordinals") {
		return 0
	}
	return int(later.Field(&set.Spec, "Ordinals").Elem().FieldByName("Start").Int())
}
