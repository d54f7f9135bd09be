package health

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

// No value of any argument, nor of the clock, panics, or leaves a lock held.
func FuzzArguments(f *testing.F) {
	for _, n := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 253402300800} {
		f.Add("a", "b", "7", n, n, n, n)
		f.Add("", "", "18446744073709551615", -n, n, int64(1), -n)
	}
	f.Fuzz(func(t *testing.T, name, other, version string, d, sec, grace, maxGap int64) {
		instant, span := time.Unix(sec, d), time.Duration(d)
		clk := testingclock.NewFakePassiveClock(epoch)
		m, err := NewMonitor(Config{NodeMonitorPeriod: span & math.MaxInt64, NodeMonitorGracePeriod: time.Duration(grace), NodeStartupGracePeriod: time.Second, MaxGap: time.Duration(maxGap), Clock: clk})
		if err != nil {
			return
		}
		keys, err := NewDeadlines[string](DeadlinesConfig{Grace: time.Duration(grace), MaxGap: time.Duration(maxGap), Clock: clk})
		require.NoError(t, err)
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(other), ResourceVersion: version, CreationTimestamp: metav1.NewTime(instant)}}
		ready := v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionStatus(other), LastHeartbeatTime: metav1.NewTime(instant), LastTransitionTime: metav1.NewTime(instant)}
		for _, now := range []time.Time{epoch, instant, epoch, {}, epoch.Add(span), epoch.Add(time.Duration(grace))} {
			clk.SetTime(now)
			m.ObserveNode(n)
			n.Status.Conditions = []v1.NodeCondition{ready}
			m.ObserveNode(n)
			m.ObserveLease(name, instant, version)
			m.Silent(instant)
			m.Pass()
			m.Next()
			m.Verdict(other)
			m.Forget(other, types.UID(version))
			UnknownConditions(n, instant)
			keys.Beat(name)
			keys.Track(other, instant)
			keys.SetGrace(version, span)
			for key := range keys.Expired() {
				keys.Get(key)
			}
			keys.Next()
			_ = keys.Restore(append(keys.Snapshot(), Status[string]{Key: other, Silent: span, Grace: time.Duration(grace)}))
			m.Restart()
			keys.Restart()
			keys.Forget(version)
		}
		require.True(t, m.guard.TryLock())
		require.True(t, keys.guard.TryLock())
	})
}
