package health

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

type watch struct {
	*Monitor
	t   testing.TB
	clk *testingclock.FakePassiveClock
}

func watching(t testing.TB, period time.Duration) *watch {
	clk := testingclock.NewFakePassiveClock(epoch)
	m, err := NewMonitor(Config{NodeMonitorPeriod: period, NodeMonitorGracePeriod: 40 * time.Second, NodeStartupGracePeriod: 60 * time.Second, Clock: clk})
	require.NoError(t, err)
	return &watch{m, t, clk}
}

// seen notes a report now, without an object around it.
func (m *Monitor) seen(r report) Observation { return m.observeReport(r, m.clock.Now()) }

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

// to passes at every instant Next asks for until then, and returns what changed as "seconds node ready".
func (w *watch) to(seconds float64) (told []string) {
	w.t.Helper()
	for {
		next, ok := w.Next()
		if !ok || next.After(at(seconds)) {
			w.clk.SetTime(at(seconds))
			return told
		}
		if next.After(w.clk.Now()) {
			w.clk.SetTime(next)
		}
		for _, v := range w.Pass() {
			told = append(told, fmt.Sprintf("%g %s %s", w.clk.Now().Sub(epoch).Seconds(), v.Node, v.Ready))
		}
	}
}

// node returns a node whose kubelet wrote its status at that second, or never if the second is negative.
func node(name, uid string, status v1.ConditionStatus, heartbeat float64) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), CreationTimestamp: metav1.NewTime(epoch)}}
	if heartbeat >= 0 {
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status, LastHeartbeatTime: metav1.NewTime(at(heartbeat))}}
	}
	return n
}

func TestGrid(t *testing.T) {
	w := watching(t, 5*time.Second)
	require.Equal(t, Observation{New: true, Heartbeat: true}, w.ObserveNode(node("a", "1", v1.ConditionTrue, 0)))
	_, ok := w.Verdict("a")
	require.False(t, ok, "none before a pass")
	require.Equal(t, []string{"0 a True"}, w.to(11))
	require.True(t, w.ObserveRenewal("a", at(11))) // noted at 15
	require.False(t, w.ObserveRenewal("a", at(11)))
	require.Equal(t, []string{"60 a Unknown"}, w.to(100), "strictly after 15+40")
	v, ok := w.Verdict("a")
	require.True(t, ok)
	require.Equal(t, Verdict{Node: "a", UID: "1", Observed: v1.ConditionTrue, Ready: v1.ConditionUnknown, Expired: true, Since: at(60), LastBeat: at(15), Grace: 40 * time.Second}, v)
}

// A node that appears while we watch has the start-up grace from its creation, if that is plausible. One that was there
// before has it from the first Pass.
func TestNeverReported(t *testing.T) {
	for _, tc := range []struct {
		name    string
		created time.Time
		want    string
	}{
		{"plausible", at(12), "75 a Unknown"},
		{"before the last Pass, which would have seen it", at(8), "75 a Unknown"},
		{"in the future", epoch.Add(time.Hour), "80 a Unknown"},
		{"none", time.Time{}, "80 a Unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := watching(t, 5*time.Second)
			n := node("a", "1", "", -1)
			n.CreationTimestamp = metav1.NewTime(tc.created)
			before := node("before", "2", "", -1)
			before.CreationTimestamp = metav1.NewTime(tc.created.Add(-time.Minute))
			w.ObserveNode(before)
			require.Equal(t, []string{"0 before "}, w.to(13))
			w.ObserveNode(n)
			require.ElementsMatch(t, []string{"15 a ", "65 before Unknown", tc.want}, w.to(100))
		})
	}
}

func TestUnknownWrittenByUsIsNoSignOfLife(t *testing.T) {
	w := watching(t, 5*time.Second)
	n := node("a", "1", v1.ConditionTrue, 0)
	w.ObserveNode(n)
	require.Equal(t, []string{"0 a True", "45 a Unknown"}, w.to(50))
	n.Status.Conditions = UnknownConditions(n, at(45))
	require.Equal(t, Observation{}, w.ObserveNode(n))
	w.ObserveRenewal("a", at(50))
	require.Equal(t, []string{"55 a Unknown"}, w.to(60), "it renews again, but only a report makes it Ready")
	require.False(t, w.Settled("a"))
	require.Equal(t, Observation{Heartbeat: true}, w.ObserveNode(node("a", "1", v1.ConditionTrue, 61)))
	require.Equal(t, []string{"65 a True"}, w.to(70))
}

func TestReportDoesNotForgetLease(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
	w.to(0)
	w.ObserveRenewal("a", at(0))
	w.to(10)
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 10))
	w.to(15)
	require.False(t, w.ObserveRenewal("a", at(0)), "the same lease again is not a renewal")
	require.Equal(t, []string{"55 a Unknown"}, w.to(60))
}

func TestStaleRelistDoesNotRevive(t *testing.T) {
	w := watching(t, 5*time.Second)
	n := node("a", "1", v1.ConditionTrue, 0)
	n.ResourceVersion = "1000"
	w.ObserveNode(n)
	w.to(0)
	w.ObserveLease("a", at(0), "900")
	w.to(30)
	old := node("a", "1", v1.ConditionTrue, 0)
	old.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(-300))
	old.ResourceVersion = "999"
	require.Equal(t, Observation{Stale: true}, w.ObserveNode(old))
	require.False(t, w.ObserveLease("a", at(-10), "899"))
	require.False(t, w.ObserveLease("unheard", at(-10), "899"))
	require.Equal(t, []string{"45 a Unknown"}, w.to(50))
	require.True(t, w.ObserveLease("a", at(50), "1001"), "a longer number is newer")
	n.ResourceVersion = "opaque"
	require.Equal(t, Observation{}, w.ObserveNode(n), "what cannot be compared is not stale")
}

func TestVersions(t *testing.T) {
	for _, tc := range []struct {
		a, b  string
		older bool
	}{{"1", "2", true}, {"2", "1", false}, {"9", "10", true}, {"10", "9", false}, {"", "1", false}, {"1", "", false}, {"x", "1", false}, {"01", "2", false}, {"7", "7", false}} {
		var k epochs
		v := version{number: parseVersion(tc.b), peak: 1}
		believed, _ := k.see(&v, parseVersion(tc.a), 1, 1)
		require.Equal(t, tc.older, !believed, "%q %q", tc.a, tc.b)
	}
}

// Stamps are whole seconds.
func TestReadyChangesWithinASecond(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 9))
	w.to(10)
	w.ObserveNode(node("a", "1", v1.ConditionFalse, 9))
	require.Equal(t, []string{"15 a False"}, w.to(15))
	v, _ := w.Verdict("a")
	require.Equal(t, at(15), v.Since)
}

func TestUnknownConditions(t *testing.T) {
	n := node("a", "1", v1.ConditionTrue, 5)
	n.Status.Conditions = append(n.Status.Conditions,
		v1.NodeCondition{Type: v1.NodeMemoryPressure, Status: v1.ConditionUnknown},
		v1.NodeCondition{Type: v1.NodeNetworkUnavailable, Status: v1.ConditionFalse})
	got := UnknownConditions(n, at(50))
	require.Equal(t, []v1.NodeCondition{
		{Type: v1.NodeReady, Status: v1.ConditionUnknown, Reason: reasonStatusUnknown, Message: "Kubelet stopped posting node status.", LastHeartbeatTime: metav1.NewTime(at(5)), LastTransitionTime: metav1.NewTime(at(50))},
		{Type: v1.NodeDiskPressure, Status: v1.ConditionUnknown, Reason: reasonNeverUpdated, Message: "Kubelet never posted node status.", LastHeartbeatTime: metav1.NewTime(epoch), LastTransitionTime: metav1.NewTime(at(50))},
		{Type: v1.NodePIDPressure, Status: v1.ConditionUnknown, Reason: reasonNeverUpdated, Message: "Kubelet never posted node status.", LastHeartbeatTime: metav1.NewTime(epoch), LastTransitionTime: metav1.NewTime(at(50))},
	}, got)
	n.Status.Conditions = got
	require.Len(t, UnknownConditions(n, at(60)), 1, "MemoryPressure is missing in this list")
}

func TestConfigs(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())
	_, err := NewMonitor(Config{NodeMonitorPeriod: -1})
	for _, name := range []string{"nodeMonitorPeriod", "nodeMonitorGracePeriod", "nodeStartupGracePeriod"} {
		require.ErrorContains(t, err, name)
	}
	_, err = NewDeadlines[int](DeadlinesConfig{})
	require.ErrorContains(t, err, "grace")
	m, err := NewMonitor(DefaultConfig())
	require.NoError(t, err)
	require.Empty(t, m.Pass(), "the real clock")
}
