package pressure

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestDeriving: both derive the same thresholds of the container file system, if ours gets one hard and one soft
// threshold of each signal and the kubelet's that can never be met are ignored.
func TestDeriving(t *testing.T) {
	fired := 0
	for seed := range int64(5000) {
		r := rand.New(rand.NewSource(seed))
		layout := nodepressure.Layout(r.Intn(3))
		given := randomThresholds(r)
		var theirs []evictionapi.Threshold
		for _, threshold := range given {
			theirs = append(theirs, evictionapi.Threshold{
				Signal: evictionapi.Signal(threshold.Signal), Operator: evictionapi.OpLessThan, GracePeriod: threshold.GracePeriod,
				Value: evictionapi.ThresholdValue{Percentage: threshold.Value.Percentage},
			})
		}
		updated, theirErr := eviction.UpdateContainerFsThresholds(theirs, layout != nodepressure.SingleFs, layout == nodepressure.SplitImageFs)
		var want []string
		for _, threshold := range updated {
			if threshold.Operator != "" {
				want = append(want, fmt.Sprint(threshold.Signal, " ", threshold.Value.Percentage, " ", threshold.GracePeriod))
			}
		}
		want = sorted(want)

		last := lastOfEach(given)
		derived, err := nodepressure.DeriveContainerFs(last, layout)
		require.Equal(t, theirErr == nil, err == nil)
		// The kubelet leaves the others unchanged.
		others := slices.DeleteFunc(slices.Clone(given), func(threshold nodepressure.Threshold) bool { return slices.Contains(last, threshold) })
		require.Equal(t, want, described(append(derived, others...)), "seed %d", seed)

		derived, _ = nodepressure.DeriveContainerFs(given, layout)
		if !slices.Equal(want, described(derived)) {
			require.NotEmpty(t, others)
			fired++
		}
	}
	t.Logf("%s: %d", OneOfEach.Name, fired)
	require.Positive(t, fired)
}

func randomThresholds(r *rand.Rand) (thresholds []nodepressure.Threshold) {
	for i := range r.Intn(8) {
		t := nodepressure.Threshold{Signal: nodepressure.Signals()[2+r.Intn(6)], Value: nodepressure.Value{Percentage: float32(10*i+1+r.Intn(9)) / 100}}
		if r.Intn(2) == 0 {
			t.GracePeriod = 30 * time.Second
		}
		thresholds = append(thresholds, t)
	}
	return thresholds
}

// lastOfEach returns the last hard and the last soft threshold of each signal.
func lastOfEach(thresholds []nodepressure.Threshold) (last []nodepressure.Threshold) {
	for i, t := range thresholds {
		if !slices.ContainsFunc(thresholds[i+1:], func(later nodepressure.Threshold) bool { return later.Signal == t.Signal && later.Hard() == t.Hard() }) {
			last = append(last, t)
		}
	}
	return last
}

func described(thresholds []nodepressure.Threshold) []string {
	var texts []string
	for _, t := range thresholds {
		texts = append(texts, fmt.Sprint(t.Signal, " ", t.Value.Percentage, " ", t.GracePeriod))
	}
	return sorted(texts)
}
