package simulation

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSettings(t *testing.T) {
	require.Equal(t, Defaults(), (&Scenario{}).Settings())
	require.Equal(t, 50*time.Second, Defaults().NodeMonitorGracePeriod)

	s := Scenario{
		Config: Config{
			NodeMonitorPeriod: after(0), NodeMonitorGracePeriod: after(1), NodeStartupGracePeriod: after(2),
			NodeEvictionRate: ptr(0.0), SecondaryNodeEvictionRate: ptr(1.0), LargeClusterSizeThreshold: ptr(0),
			UnhealthyZoneThreshold: ptr(1.0), PodEvictionTimeout: after(0), TaintBasedEviction: ptr(false),
		},
		Heartbeat:  Heartbeat{Interval: after(3), StatusInterval: after(4), Spread: ptr(SpreadNone)},
		Reschedule: &Reschedule{After: after(0)},
		Until:      after(5),
	}
	require.Equal(t, Settings{
		TolerationSeconds:      300,
		NodeMonitorGracePeriod: 1, NodeStartupGracePeriod: 2, SecondaryNodeEvictionRate: 1, UnhealthyZoneThreshold: 1,
		HeartbeatInterval: 3, StatusInterval: 4, Spread: SpreadNone, Reschedule: true, Until: 5,
	}, s.Settings())
	s.Reschedule.After = nil
	require.Equal(t, 10*time.Second, s.Settings().RescheduleAfter)
}

func TestDuration(t *testing.T) {
	var d Duration
	require.NoError(t, d.UnmarshalText([]byte("1m30s")))
	require.Equal(t, 90*time.Second, d.Value())
	text, err := d.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "1m30s", string(text))
	require.NoError(t, d.UnmarshalText([]byte("-1h")), "Check reports negative ones, with their place")
	require.NoError(t, d.UnmarshalText([]byte("0")))
	for _, bad := range []string{"", "10", "5 m", "1d"} {
		require.EqualError(t, d.UnmarshalText([]byte(bad)), `"`+bad+`" is not a duration such as 90s, 1m30s or 0`)
	}
	require.Zero(t, (*Duration)(nil).Value())
}

func TestNames(t *testing.T) {
	for _, test := range []struct {
		nodes, i int
		want     string
	}{
		{1, 0, "a-000"}, {1000, 999, "a-999"}, {1001, 0, "a-0000"}, {1001, 1000, "a-1000"}, {100001, 7, "a-000007"},
	} {
		require.Equal(t, test.want, (&Zone{Name: "a", Nodes: test.nodes}).NodeName(test.i))
	}
	require.Equal(t, "a-000-p12", PodName("a-000", 12))
	require.Equal(t, "a-000-ds0", DaemonSetPodName("a-000", 0))
	require.Equal(t, ZoneKey{"r", "a"}, (&Zone{Name: "a", Region: "r"}).Key())

	for text, want := range map[string][2]string{"x": {"default", "x"}, "shop/x": {"shop", "x"}} {
		namespace, name := SplitPodName(text)
		require.Equal(t, want, [2]string{namespace, name})
		require.Equal(t, text, JoinPodName(namespace, name))
	}
}

func TestResolveZone(t *testing.T) {
	exist := []ZoneKey{{"r1", "a"}, {"r2", "a"}, {"", "b"}, {"", ""}, {"r1", "c"}}
	for ref, want := range map[string]ZoneKey{
		"r1:a": {"r1", "a"}, "r2:a": {"r2", "a"}, "b": {"", "b"}, ":b": {"", "b"}, "": {}, ":": {}, "c": {"r1", "c"},
	} {
		got, err := ResolveZone(ref, exist)
		require.NoError(t, err, ref)
		require.Equal(t, want, got, ref)
	}
	for _, ref := range []string{"d", "r2:b", ":c", "r1:"} {
		_, err := ResolveZone(ref, exist)
		require.EqualError(t, err, `zone "`+ref+`" does not exist`)
	}
	_, err := ResolveZone("a", exist)
	require.EqualError(t, err, `zone "a" is ambiguous: write one of "r1:a", "r2:a"`)
	require.Negative(t, ZoneKey{"r1", "z"}.Compare(ZoneKey{"r2", "a"}))
	require.Positive(t, ZoneKey{"r1", "b"}.Compare(ZoneKey{"r1", "a"}))
}

func TestTrace(t *testing.T) {
	trace, err := NewTrace(600, []int{16, 15, 0})
	require.NoError(t, err)
	require.Equal(t, 10*time.Minute, trace.Gap())
	require.Equal(t, 3, trace.Len())
	require.Equal(t, 15, trace.Sample(1))
	for at, want := range map[time.Duration]int{-1: 0, 0: 0, 10*time.Minute - 1: 0, 10 * time.Minute: 1, 20 * time.Minute: 2, math.MaxInt64: 2} {
		require.Equal(t, want, trace.Index(at), at)
	}
}

func TestTraceAlive(t *testing.T) {
	trace, err := NewTrace(1, []int{16, 3})
	require.NoError(t, err)
	zero, err := NewTrace(1, []int{0})
	require.NoError(t, err)
	for _, test := range []struct {
		trace        *Trace
		sample, size int
		scale        *int
		want         int
	}{
		{trace, 16, 508, nil, 508},
		{trace, 0, 508, nil, 0},
		{trace, 15, 100, nil, 94}, // 93.75
		{trace, 1, 100, nil, 6},   // 6.25
		{trace, 1, 8, nil, 1},     // 0.5: half up
		{trace, 3, 8, nil, 2},     // 1.5
		{trace, 5, 8, nil, 3},     // 2.5
		{trace, 5, 0, nil, 0},
		{zero, 0, 8, nil, 0},
		{trace, 5, 100, ptr(10), 50},
		{trace, 16, 100, ptr(10), 100},
		{trace, 10, 100, ptr(10), 100},
		{trace, 0, 100, ptr(10), 0},
		{trace, 3, 0, ptr(10), 0},
		{trace, 16, 100, ptr(math.MaxInt), 100},
		{trace, 16, 100, ptr(0), 0},
	} {
		require.Equal(t, test.want, test.trace.Alive(test.sample, test.size, test.scale), "%+v", test)
	}
}

func TestNewTraceFaults(t *testing.T) {
	_, err := NewTrace(0, nil)
	require.EqualError(t, err, "gap_seconds 0 is not a positive number of seconds\ndata is empty")
	_, err = NewTrace(math.MaxInt, []int{1, -1, -2})
	require.EqualError(t, err, "gap_seconds 9223372036854775807 is not a positive number of seconds\ndata: sample 1 (from 0) is -1, outside 0…2147483647")
	_, err = NewTrace(1, []int{math.MaxInt})
	require.Error(t, err)
}

func TestEventWithoutTime(t *testing.T) {
	require.Zero(t, (&Event{}).Time())
	require.Empty(t, (&Event{}).Actions())
	all := Event{
		Fail: &Selector{}, Recover: &Selector{}, Condition: &Condition{}, Taint: &Taint{}, Untaint: &Untaint{}, Cordon: &Selector{}, Uncordon: &Selector{},
		DeleteNode: &Selector{}, AddNode: &AddNode{}, AddPod: &AddPod{}, DeletePod: &DeletePod{}, ForceDelete: &DeletePod{}, API: &API{}, Restart: &Restart{},
	}
	require.Equal(t, []string{
		"fail", "recover", "condition", "taint", "untaint", "cordon", "uncordon", "deleteNode", "addNode", "addPod", "deletePod", "forceDelete", "api", "restart",
	}, all.Actions())
}

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
