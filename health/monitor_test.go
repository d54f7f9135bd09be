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

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

// settled says whether the failure of a node can be acted on now.
func (w *watch) settled(name string) bool {
	v, _ := w.Verdict(name)
	return !v.Settles.IsZero() && !v.Settles.After(w.clk.Now())
}

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

func TestPeriod(t *testing.T) {
	w := watching(t, 5*time.Second)
	require.Equal(t, Observation{Heartbeat: true}, w.ObserveNode(node("a", "1", v1.ConditionTrue, 0)))
	_, ok := w.Verdict("a")
	require.False(t, ok, "none before a pass")
	require.Equal(t, []string{"0 a True"}, w.to(11))
	require.True(t, w.ObserveLease("a", at(11), "")) // noted at 15
	require.False(t, w.ObserveLease("a", at(11), ""))
	require.Equal(t, []string{"60 a Unknown"}, w.to(100), "strictly after 15+40")
	v, ok := w.Verdict("a")
	require.True(t, ok)
	require.Equal(t, Verdict{Node: "a", UID: "1", Observed: v1.ConditionTrue, Ready: v1.ConditionUnknown, Expired: true, Since: at(60), LastBeat: at(15), Grace: 40 * time.Second, Settles: at(55).Add(1)}, v)
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
	n := node("a", "1", v1.ConditionTrue, 0.5)
	w.ObserveNode(n)
	require.Equal(t, []string{"0 a True", "45 a Unknown"}, w.to(50))
	n.Status.Conditions = UnknownConditions(n, at(45))
	n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(0)) // the API server cuts it to seconds
	require.Equal(t, Observation{}, w.ObserveNode(n))
	w.ObserveLease("a", at(50), "")
	require.Equal(t, []string{"55 a Unknown"}, w.to(60), "it renews again, but only a report makes it Ready")
	require.False(t, w.settled("a"))
	require.Equal(t, Observation{Heartbeat: true}, w.ObserveNode(node("a", "1", v1.ConditionTrue, 61)))
	require.Equal(t, []string{"65 a True"}, w.to(70))
}

func TestReportDoesNotForgetLease(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
	w.to(0)
	w.ObserveLease("a", at(0), "")
	w.to(10)
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 10))
	w.to(15)
	require.False(t, w.ObserveLease("a", at(0), ""), "the same lease again is not a renewal")
	require.Equal(t, []string{"60 a Unknown"}, w.to(60))
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
	require.Equal(t, []string{"50 a Unknown"}, w.to(50))
	require.True(t, w.ObserveLease("a", at(50), "1001"), "a longer number is newer")
	n.ResourceVersion = "opaque"
	require.Equal(t, Observation{}, w.ObserveNode(n), "what cannot be compared is not stale")
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

func TestTheRealClock(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())
	m, err := NewMonitor(DefaultConfig())
	require.NoError(t, err)
	require.Empty(t, m.Pass())
}

func TestExact(t *testing.T) {
	w := watching(t, 0)
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
	require.Equal(t, []string{"0 a True"}, w.to(11))
	require.True(t, w.ObserveLease("a", at(7), ""))
	next, _ := w.Next()
	require.Equal(t, at(16), next, "a renewal of a live node asks for no Pass at once")
	require.Equal(t, []string{"51 a Unknown"}, w.to(100), "at the deadline")
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 99))
	require.Equal(t, []string{"100 a True"}, w.to(100), "at once")
}

func TestFirstReportAndItsLoss(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.ObserveNode(node("a", "1", "", -1))
	w.to(50)
	require.Equal(t, Observation{Heartbeat: true}, w.ObserveNode(node("a", "1", v1.ConditionFalse, 50)))
	require.Equal(t, []string{"55 a False"}, w.to(60))
	require.Equal(t, Observation{}, w.ObserveNode(node("a", "1", "", -1)), "losing the condition is no sign of life")
	require.Equal(t, []string{"65 a ", "120 a Unknown"}, w.to(200), "the start-up grace counts again, from 55")
	v, _ := w.Verdict("a")
	require.Equal(t, 60*time.Second, v.Grace)
}

func TestRecreatedNodeStartsAfresh(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
	w.to(40)
	n := node("a", "2", "", -1)
	n.CreationTimestamp = metav1.NewTime(at(40))
	require.Equal(t, Observation{Heartbeat: true}, w.ObserveNode(n))
	require.False(t, w.Forget("a", "1"), "a late event of the old one")
	require.Equal(t, []string{"45 a ", "105 a Unknown"}, w.to(150))
	require.True(t, w.Forget("a", "2"))
	require.False(t, w.Forget("a", ""))
	require.Zero(t, w.nodes.Len())
	require.Empty(t, w.to(300))
}

func TestFreeze(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		w := watching(t, period)
		w.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
		w.to(10)
		w.Freeze()
		for second := 11.0; second < 500; second++ {
			w.clk.SetTime(at(second))
			w.ObserveLease("a", at(second), "")
			require.Empty(t, w.Pass())
		}
		require.LessOrEqual(t, len(w.changed), 1, "it does not grow")
		w.clk.SetTime(at(500))
		w.Thaw()
		w.Thaw()
		require.Empty(t, w.to(539), "all clocks started anew")
		require.Equal(t, 1, len(w.to(546)))
	}
}

// A Pass while frozen dates heartbeats, too, and may be the first.
func TestTheFirstPassWhileFrozen(t *testing.T) {
	for _, period := range periods {
		w := watching(t, period)
		w.Freeze()
		w.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
		require.Empty(t, w.Pass())
		w.Thaw()
		w.clk.SetTime(at(5))
		v := w.Pass()[0]
		require.Equal(t, []time.Time{epoch, epoch}, []time.Time{v.Since, v.LastBeat})
	}
}

func TestRestartAndSettled(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.ObserveNode(node("dead", "1", v1.ConditionTrue, 0))
	w.ObserveNode(node("written", "1", v1.ConditionUnknown, 0))
	w.ObserveNode(node("unready", "1", v1.ConditionFalse, 0))
	require.False(t, w.settled("dead"), "no verdict yet")
	w.to(30)
	require.False(t, w.settled("unready"), "it may be dead, and have said so long ago")
	w.ObserveLease("unready", at(30), "")
	w.to(35)
	require.True(t, w.settled("unready"), "it lives, and says so")
	require.False(t, w.settled("written"), "Unknown when we came: we have not watched it")
	require.Equal(t, []string{"45 dead Unknown", "45 written Unknown"}, w.to(50))
	for _, name := range []string{"dead", "written", "unready"} {
		require.True(t, w.settled(name), name)
	}
	w.Restart()
	for _, name := range []string{"dead", "written", "unready"} {
		require.False(t, w.settled(name), name)
	}
	v, _ := w.Verdict("dead")
	require.Equal(t, v1.ConditionUnknown, v.Ready, "it stays Unknown")
	require.Equal(t, at(50), v.LastBeat)
	require.Equal(t, at(90).Add(1), v.Settles)
	require.Equal(t, []string{"95 dead Unknown", "95 unready Unknown", "95 written Unknown"}, w.to(95))
	require.True(t, w.settled("dead"))
	w.ObserveNode(node("late", "1", v1.ConditionFalse, 96))
	w.ObserveNode(node("fell", "1", v1.ConditionTrue, 96))
	w.to(100)
	w.ObserveNode(node("fell", "1", v1.ConditionFalse, 101))
	w.to(105)
	require.False(t, w.settled("late"), "it may have been so for long")
	require.True(t, w.settled("fell"), "we saw it happen")
	w.Restart()
	require.False(t, w.settled("fell"))
	w.ObserveLease("fell", at(106), "")
	w.ObserveNode(node("dead", "1", v1.ConditionTrue, 106))
	w.to(110)
	require.False(t, w.settled("dead"), "it is Ready")
	require.True(t, w.settled("fell"), "it still says so")
	require.False(t, w.settled("unheard"))
}

// What a node reports changes its verdict, when that began, and whether it is settled, together at a Pass.
func TestReportsCountAtThePass(t *testing.T) {
	w := watching(t, 5*time.Second)
	says := func(status v1.ConditionStatus, second float64) {
		n := node("a", "1", status, second)
		n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(at(second))
		w.ObserveNode(n)
	}
	w.to(4)
	says(v1.ConditionFalse, 4)
	require.Equal(t, []string{"5 a False"}, w.to(6))
	says(v1.ConditionTrue, 6)
	require.False(t, w.settled("a"), "it recovers")
	v, _ := w.Verdict("a")
	require.Equal(t, at(4), v.Since, "when it was first seen")
	w.to(7)
	says(v1.ConditionFalse, 7)
	require.Equal(t, []string{"10 a False"}, w.to(11), "it was Ready in between")
	v, _ = w.Verdict("a")
	require.Equal(t, at(10), v.Since)
	require.True(t, w.settled("a"), "seen to change")
	w.ObserveNode(node("a", "1", v1.ConditionFalse, 12))
	w.to(15)
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 12))
	w.ObserveNode(node("a", "1", v1.ConditionFalse, 12))
	require.Empty(t, w.to(20), "as it was")
}
