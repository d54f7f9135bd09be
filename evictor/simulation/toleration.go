package simulation

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// TolerationSeconds is how long a pod tolerates that its node is not ready or unreachable. As in Kubernetes, 0 and
// negative values mean no time at all. In text it is a whole number, or none.
type TolerationSeconds int64

// NoToleration means that the pod has no such toleration; in text it is none.
const NoToleration = TolerationSeconds(math.MinInt64)

// UnmarshalText reads none or a whole number.
func (t *TolerationSeconds) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*t = NoToleration
		return nil
	}
	if n, err := strconv.ParseInt(string(text), 0, 64); err == nil && n != int64(NoToleration) {
		*t = TolerationSeconds(n)
		return nil
	}
	number, err := strconv.ParseFloat(strings.Replace(string(text), ".inf", "inf", 1), 64) // as YAML writes it
	switch {
	case err != nil || math.IsNaN(number) || number != math.Trunc(number):
		return fmt.Errorf("%s is not a whole number", text)
	case math.Abs(number) >= 1<<63:
		return fmt.Errorf("%s is too large", text)
	}
	*t = TolerationSeconds(number)
	return nil
}

// MarshalText returns the text that UnmarshalText reads.
func (t TolerationSeconds) MarshalText() ([]byte, error) {
	if t == NoToleration {
		return []byte("none"), nil
	}
	return strconv.AppendInt(nil, int64(t), 10), nil
}

// readmitted returns the pod as if the API server's admission had added these seconds, and not the usual ones.
func (t TolerationSeconds) readmitted(pod *v1.Pod) *v1.Pod {
	added := func(of v1.Toleration) bool {
		return (of.Key == v1.TaintNodeNotReady || of.Key == v1.TaintNodeUnreachable) && of.Effect == v1.TaintEffectNoExecute &&
			of.TolerationSeconds != nil && *of.TolerationSeconds == int64(usualTolerance)
	}
	if t == usualTolerance || !slices.ContainsFunc(pod.Spec.Tolerations, added) {
		return pod
	}
	changed := *pod
	changed.Spec.Tolerations = slices.Clone(pod.Spec.Tolerations)
	if t == NoToleration {
		changed.Spec.Tolerations = slices.DeleteFunc(changed.Spec.Tolerations, added)
		return &changed
	}
	seconds := int64(t)
	for i := range changed.Spec.Tolerations {
		if added(changed.Spec.Tolerations[i]) {
			changed.Spec.Tolerations[i].TolerationSeconds = &seconds
		}
	}
	return &changed
}
