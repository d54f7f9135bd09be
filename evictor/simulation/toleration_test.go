package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTolerationSeconds(t *testing.T) {
	for text, want := range map[string]TolerationSeconds{"300": 300, "-1": -1, "0": 0, "0x10": 16, "3.0": 3, "1e1": 10, "none": NoToleration} {
		var got TolerationSeconds
		require.NoError(t, got.UnmarshalText([]byte(text)))
		require.Equal(t, want, got, text)
		again, err := got.MarshalText()
		require.NoError(t, err)
		require.NoError(t, got.UnmarshalText(again))
		require.Equal(t, want, got, text)
	}
	for _, bad := range []string{"", "None", "5m", ".5", ".nan", "1e40"} {
		require.Error(t, new(TolerationSeconds).UnmarshalText([]byte(bad)), bad)
	}
}

// What the API server adds is one setting. It reaches the pods of a dump that have its usual 300 seconds, and no pod that
// says for how long it stays.
func TestDefaultTolerationSeconds(t *testing.T) {
	pod := func(name string, seconds ...int64) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{NodeName: "n"}}
		for _, s := range seconds {
			p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &s})
		}
		return p
	}
	s := Scenario{
		Nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}},
		Zones: []Zone{
			{Name: "a", Nodes: 3, PodsPerNode: 1},
			{Name: "b", Nodes: 3, PodsPerNode: 1, TolerationSeconds: ptr(TolerationSeconds(300))},
		},
		Events: []Event{
			{At: time.Second, AddPod: &AddPod{Name: "added", Node: "a-000"}}, {At: time.Second, AddPod: &AddPod{Name: "own", Node: "a-000", TolerationSeconds: ptr(TolerationSeconds(90))}},
			{At: time.Minute, Fail: named("n", "a-000", "b-000")},
		},
		Until: 20 * time.Minute,
	}
	usual, hasty := pod("usual", 300), pod("hasty", 30)
	s.Pods = []*v1.Pod{usual, hasty}
	left := func(seconds *TolerationSeconds) map[string]time.Duration {
		s.DefaultTolerationSeconds = seconds
		lines, _, _ := told(t, newCluster(clockOf(nil)), s)
		at, tainted := make(map[string]time.Duration), make(map[string]time.Duration)
		for _, l := range of(lines, "taint") {
			tainted[l.Node] = l.T
		}
		for _, l := range of(lines, "evict") {
			at[l.Pod] = l.T - tainted[l.Node]
		}
		return at
	}
	all := func(usual time.Duration) map[string]time.Duration {
		return map[string]time.Duration{"usual": usual, "a-000-p0": usual, "added": usual, "own": 90 * time.Second, "hasty": 30 * time.Second, "b-000-p0": 300 * time.Second}
	}
	require.Equal(t, all(300*time.Second), left(nil))
	require.Equal(t, all(60*time.Second), left(ptr(TolerationSeconds(60))))
	require.Equal(t, all(0), left(ptr(NoToleration)), "admission is off, so nothing is tolerated")
	require.Equal(t, int64(300), *usual.Spec.Tolerations[0].TolerationSeconds, "the objects stay as they are")
}
