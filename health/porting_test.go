package health

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
)

// What maintainers of other monitors would ask before replacing theirs; see MIGRATING.md. The cases named after
// upstream are those of its NodeLifecycleController.

// Open Cluster Management: whatever the remote clock shows, renewals that keep changing keep the node alive. Once they
// stop, it becomes Unknown at the same time as with a correct clock.
func TestRemoteClockAnHourOffDoesNoHarm(t *testing.T) {
	const renewals = 7200.0
	for name, remote := range map[string]func(seconds float64) float64{
		"right":                  func(s float64) float64 { return s },
		"an hour ahead":          func(s float64) float64 { return s + 3600 },
		"an hour behind":         func(s float64) float64 { return s - 3600 },
		"a day behind":           func(s float64) float64 { return s - 86400 },
		"runs backwards":         func(s float64) float64 { return -s },
		"hardly moves":           func(s float64) float64 { return s / 1e8 },
		"set back after an hour": func(s float64) float64 { return s - 3600*float64(int(s/3600)) - 1 },
		"corrected by an hour":   func(s float64) float64 { return s + 3600*float64(int(s/3600)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := watching(t, 5*time.Second)
			w.ObserveNode(node("a", "1", v1.ConditionTrue, 7200))
			require.Equal(t, []string{"0 a True"}, w.to(0))
			for s := 10.0; s <= renewals; s += 10 {
				require.Empty(t, w.to(s))
				require.True(t, w.ObserveLease("a", at(remote(s)), ""))
				require.False(t, w.ObserveLease("a", at(remote(s)), ""), "the same again, as a resync brings it")
			}
			require.Equal(t, []string{"7250 a Unknown"}, w.to(2*renewals))
		})
	}
}

// The same for status reports without leases, by the heartbeat that the node writes.
func TestRemoteClockOfReportsDoesNoHarm(t *testing.T) {
	w := watching(t, 5*time.Second)
	for s := 0.0; s <= 3600; s += 30 {
		n := node("a", "1", v1.ConditionTrue, 0)
		n.CreationTimestamp = metav1.NewTime(at(3600))
		n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(-3600 - s))
		require.True(t, w.ObserveNode(n).Heartbeat)
		w.to(s + 30)
	}
	v, _ := w.Verdict("a")
	require.Equal(t, v1.ConditionTrue, v.Ready)
	require.Equal(t, at(3605), v.LastBeat, "as of the next Pass")
	require.Equal(t, []string{"3650 a Unknown"}, w.to(4000))
}

// upstreams is a monitor configured like the one in upstream's tests.
func upstreams(t *testing.T) *watch {
	clk := testingclock.NewFakePassiveClock(epoch)
	config := DefaultConfig()
	config.Clock = clk
	m, err := NewMonitor(config)
	require.NoError(t, err)
	return &watch{m, t, clk}
}

// Upstream's TestMonitorNodeHealthUpdateStatus and TestMonitorNodeHealthUpdateNodeAndPodStatusWithLease. Where they let an
// hour pass at once, here it passes in steps of five seconds, with renewals at their usual period.
func TestUpstreamsHealthTable(t *testing.T) {
	const (
		recently = 0.0
		longAgo  = -3 * 365 * 86400.0
		hour     = 3600.0

		neverPosted = "Ready NodeStatusNeverUpdated, MemoryPressure NodeStatusNeverUpdated, DiskPressure NodeStatusNeverUpdated, PIDPressure NodeStatusNeverUpdated"
		stopped     = "Ready NodeStatusUnknown, MemoryPressure NodeStatusNeverUpdated, DiskPressure NodeStatusNeverUpdated, PIDPressure NodeStatusNeverUpdated"
	)
	for name, row := range map[string]struct {
		created         float64
		status, lease   bool // there is one
		passes          float64
		reports, renews bool // while the time passes
		ready           v1.ConditionStatus
		write           string
	}{
		"new without status":                           {created: recently},
		"old without status":                           {created: longAgo, passes: 70, ready: v1.ConditionUnknown, write: neverPosted},
		"old without status, at first":                 {created: longAgo, passes: 60},
		"old with a fresh status":                      {created: longAgo, status: true, ready: v1.ConditionTrue},
		"old with a stale status":                      {created: longAgo, status: true, passes: hour, ready: v1.ConditionUnknown, write: stopped},
		"new without status with a lease":              {created: recently, lease: true},
		"old without status with a lease":              {created: longAgo, lease: true},
		"old without status with a renewed lease":      {created: longAgo, lease: true, passes: hour, renews: true},
		"old without status with an expired lease":     {created: longAgo, lease: true, passes: hour, ready: v1.ConditionUnknown, write: neverPosted},
		"old with a stale status and a renewed lease":  {created: longAgo, status: true, lease: true, passes: hour, renews: true, ready: v1.ConditionTrue},
		"old with fresh reports and an expired lease":  {created: longAgo, status: true, lease: true, passes: hour, reports: true, ready: v1.ConditionTrue},
		"old with a stale status and an expired lease": {created: longAgo, status: true, lease: true, passes: hour, ready: v1.ConditionUnknown, write: stopped},
	} {
		t.Run(name, func(t *testing.T) {
			w := upstreams(t)
			n := node("node0", "1", v1.ConditionTrue, 0)
			if !row.status {
				n.Status.Conditions = nil
			}
			n.CreationTimestamp = metav1.NewTime(at(row.created))
			w.ObserveNode(n)
			if row.lease {
				w.ObserveLease("node0", at(0), "")
			}
			w.to(0)
			for s := 10.0; s <= row.passes; s += 10 {
				if row.renews {
					w.ObserveLease("node0", at(s), "")
				}
				if row.reports {
					n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(s))
				}
				w.ObserveNode(n)
				w.to(s)
			}
			v, ok := w.Verdict("node0")
			require.True(t, ok)
			require.Equal(t, row.ready, v.Ready)
			require.Equal(t, row.write != "", v.Expired)
			if v.Expired {
				var write []string
				for _, c := range UnknownConditions(n, w.clk.Now()) {
					write = append(write, string(c.Type)+" "+c.Reason)
					require.Equal(t, v1.ConditionUnknown, c.Status)
					if c.Reason == reasonNeverUpdated {
						require.Equal(t, n.CreationTimestamp, c.LastHeartbeatTime)
					} else {
						require.Equal(t, metav1.NewTime(epoch), c.LastHeartbeatTime)
					}
				}
				require.Equal(t, row.write, strings.Join(write, ", "))
			}
		})
	}
}

// Upstream's TestTryUpdateNodeHealth: for every shape of the Ready condition, the verdict is what the node says while that
// is fresh, and Unknown afterwards.
func TestUpstreamsReadyShapes(t *testing.T) {
	for _, says := range []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown, ""} {
		w := upstreams(t)
		n := node("node0", "1", says, 0)
		grace := 50.0
		if says == "" {
			n.Status.Conditions, grace = nil, 60
		}
		w.ObserveNode(n)
		w.to(grace)
		for _, want := range []v1.ConditionStatus{says, v1.ConditionUnknown} {
			v, ok := w.Verdict("node0")
			require.True(t, ok)
			require.Equal(t, says, v.Observed)
			require.Equal(t, want, v.Ready)
			w.to(grace + 5)
		}
	}
}
