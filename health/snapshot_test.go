package health

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
)

func TestMonitorRefusesASnapshot(t *testing.T) {
	good := NodeSnapshot{Node: "a", Observed: v1.ConditionTrue, Ready: v1.ConditionTrue}
	with := func(change func(s *MonitorSnapshot, n *NodeSnapshot)) MonitorSnapshot {
		s := MonitorSnapshot{Version: 1, Started: true, Nodes: []NodeSnapshot{{Node: "b", Observed: v1.ConditionFalse, Ready: v1.ConditionFalse}, good}}
		change(&s, &s.Nodes[1])
		return s
	}
	fell := Versions{Newest: "7", Fell: true}
	for name, s := range map[string]MonitorSnapshot{
		"version":                      with(func(s *MonitorSnapshot, _ *NodeSnapshot) { s.Version = 2 }),
		"no version":                   with(func(s *MonitorSnapshot, _ *NodeSnapshot) { s.Version = 0 }),
		"a pass to come":               with(func(s *MonitorSnapshot, _ *NodeSnapshot) { s.SincePass = -1 }),
		"a pass that was none":         with(func(s *MonitorSnapshot, _ *NodeSnapshot) { s.Started, s.SincePass = false, 1 }),
		"frozen twice":                 with(func(s *MonitorSnapshot, _ *NodeSnapshot) { s.Frozen = []string{"x", "y", "x"} }),
		"a node twice":                 with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.Node = "b" }),
		"silence":                      with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.Silent = -5*time.Second - 1 }),
		"change to come":               with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.Unchanged = -time.Hour }),
		"observed":                     with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.Observed, n.Ready = "Maybe", v1.ConditionUnknown }),
		"ready":                        with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.Ready = "Maybe" }),
		"ready does not follow":        with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.Ready = v1.ConditionFalse }),
		"expired and Ready":            with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.Expired = true }),
		"handed out and alive":         with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.HandedOut = true }),
		"told before the first pass":   with(func(s *MonitorSnapshot, _ *NodeSnapshot) { s.Started = false }),
		"untold and nothing to tell":   with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.Untold, n.Ready = true, "" }),
		"untold and ready":             with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.Untold, n.Changed = true, true }),
		"no number":                    with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.ObjectVersions.Newest = "x" }),
		"fell from nothing":            with(func(_ *MonitorSnapshot, n *NodeSnapshot) { n.LeaseVersions.Fell = true }),
		"an epoch that has not begun":  with(func(s *MonitorSnapshot, n *NodeSnapshot) { s.Nodes[0].LeaseVersions, n.LeaseVersions = fell, fell }),
		"the same for nodes' versions": with(func(s *MonitorSnapshot, n *NodeSnapshot) { s.Nodes[0].ObjectVersions, n.ObjectVersions = fell, fell }),
	} {
		w := watching(t, 5*time.Second)
		require.Error(t, w.Restore(s), name)
		require.Zero(t, w.Len())
		require.NoError(t, w.Restore(with(func(*MonitorSnapshot, *NodeSnapshot) {})), "nothing has changed")
		require.Error(t, w.Restore(MonitorSnapshot{Version: 1}), "it has seen something")
	}
	w := watching(t, 0)
	w.Freeze("x")
	require.Error(t, w.Restore(MonitorSnapshot{Version: 1}))
	require.NoError(t, watching(t, 0).Restore(with(func(s *MonitorSnapshot, n *NodeSnapshot) { s.Nodes[0].LeaseVersions, n.ObjectVersions = fell, fell })))
}

// A snapshot holds the reasons of Freeze, and the versions seen.
func TestSnapshotIsWhole(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.Observe(versioned("a", "u", 100, v1.ConditionTrue, 0))
	w.ObserveLease("a", at(0), "150")
	w.to(50)
	w.Freeze("watch broken")
	w.Freeze("paused")
	other := watching(t, 5*time.Second)
	require.NoError(t, other.Restore(w.Snapshot()))
	require.Equal(t, []string{"watch broken", "paused"}, other.Snapshot().Frozen)
	require.Empty(t, other.to(100))
	require.True(t, other.Thaw("paused"))
	require.Empty(t, other.to(200))
	require.True(t, other.Thaw("watch broken"))
	require.False(t, other.ObserveLease("a", at(-10), "140"), "as before")
	require.True(t, other.Observe(versioned("a", "u", 99, v1.ConditionTrue, -10)).Stale)
	v, _ := other.Verdict("a")
	require.Equal(t, v1.ConditionUnknown, v.Ready)
	require.Equal(t, []string{"245 a Unknown"}, other.to(300), "silent for one more grace")
}

// FuzzMonitorSnapshot decodes and restores any input. What is accepted works, and the next snapshot is the same.
func FuzzMonitorSnapshot(f *testing.F) {
	f.Add([]byte(`{"version":1,"started":true,"sincePass":3000000000,"frozen":["x"],"nodes":[{"node":"a","uid":"1","observed":"True","ready":"Unknown","expired":true,"handedOut":true,"silent":90000000000,"unchanged":-1000000000,"heartbeat":7,"transition":7,"lease":9,"objectVersions":{"newest":"7","latest":8},"leaseVersions":{"newest":"9","fell":true}}]}`), true)
	f.Add([]byte(`{"version":1,"nodes":[{"node":"a","untold":true,"changed":true,"silent":9223372036854775807,"unchanged":9223372036854775807}]}`), false)
	f.Add([]byte(`{"version":1,"started":true,"sincePass":9223372036854775807,"nodes":[{"node":"a"},{"node":"b","changed":true,"lease":-9223372036854775808}]}`), true)
	f.Fuzz(func(t *testing.T, text []byte, grid bool) {
		var s MonitorSnapshot
		if json.Unmarshal(text, &s) != nil {
			return
		}
		period := map[bool]time.Duration{true: 5 * time.Second}[grid]
		w := watching(t, period)
		if w.Restore(s) != nil {
			require.Zero(t, w.Len())
			require.Empty(t, w.Snapshot().Frozen)
			require.Empty(t, w.Snapshot().Nodes)
			return
		}
		require.Equal(t, len(s.Nodes), w.Len())
		first := w.Snapshot()
		other := watching(t, period)
		require.NoError(t, other.Restore(first))
		require.Equal(t, first, other.Snapshot())
		for n := range 30 {
			w.clk.SetTime(at(float64(n * n)))
			w.Pass()
			w.Next()
			for _, n := range s.Nodes {
				w.Settled(n.Node)
				w.Settles(n.Node)
				w.Verdict(n.Node)
				w.ObserveLease(n.Node, at(1), "8")
				w.ObserveNode(node(n.Node, string(n.UID), v1.ConditionTrue, 3))
			}
			if n == 10 {
				w.Restart()
			}
		}
		text, err := json.Marshal(w.Snapshot())
		require.NoError(t, err)
		var last MonitorSnapshot
		require.NoError(t, json.Unmarshal(text, &last))
		require.NoError(t, watching(t, period).Restore(last), "%s", text)
	})
}

func FuzzDeadlinesSnapshot(f *testing.F) {
	f.Add([]byte(`{"version":1,"keys":[{"key":"a","silent":9223372036854775807,"grace":9223372036854775807},{"key":"b","silent":3,"grace":60000000000,"handedOut":true}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s DeadlinesSnapshot[string]
		if json.Unmarshal(text, &s) != nil {
			return
		}
		d, err := NewDeadlines[string](DeadlinesConfig{Grace: time.Minute, Clock: testingclock.NewFakePassiveClock(epoch)})
		require.NoError(t, err)
		if d.Restore(s) != nil {
			require.Zero(t, d.Len())
			return
		}
		require.ElementsMatch(t, s.Keys, d.Snapshot().Keys)
		for range d.ExpiredAt(epoch.Add(time.Hour)) {
			continue
		}
		d.Late()
		d.Reset()
		d.Next()
		for _, k := range s.Keys {
			d.Get(k.Key)
			d.SetGrace(k.Key, time.Second)
			d.Beat(k.Key)
			require.True(t, d.Forget(k.Key))
		}
		require.Zero(t, d.Len())
	})
}
