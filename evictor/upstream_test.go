package evictor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/zone"
)

// The scenarios and results of upstream's tests of its NodeLifecycleController, and of OpenYurt's copies, written anew.
// Where an hour passes there in one step, here it passes in passes of five seconds. Tests only about health are in
// package health, and those of single parts in their packages.

// TestMonitorNodeHealthEvictPods, without taints: a second, healthy node is in the same zone.
func TestUpstreamsEvictPods(t *testing.T) {
	for name, row := range map[string]struct {
		age         time.Duration
		noZone      bool
		first, then v1.ConditionStatus
		passes      time.Duration
		reports     bool // repeats what it says
		daemon      bool
		evicted     bool
	}{
		"new without status":                               {},
		"new without status and without labels at first":   {noZone: true},
		"NotReady for exactly the timeout":                 {age: longAgo, first: v1.ConditionFalse, then: v1.ConditionFalse, passes: 10 * time.Minute, reports: true},
		"NotReady for an hour":                             {age: longAgo, first: v1.ConditionFalse, then: v1.ConditionFalse, passes: time.Hour, reports: true, evicted: true},
		"NotReady for an hour with a pod of a DaemonSet":   {age: longAgo, first: v1.ConditionFalse, then: v1.ConditionFalse, passes: time.Hour, reports: true, daemon: true},
		"Unknown for less than the timeout":                {age: longAgo, first: v1.ConditionUnknown, then: v1.ConditionUnknown, passes: 10*time.Minute - 50*time.Second},
		"Unknown for an hour":                              {age: longAgo, first: v1.ConditionUnknown, then: v1.ConditionUnknown, passes: time.Hour, evicted: true},
		"Ready and silent for an hour":                     {age: longAgo, first: v1.ConditionTrue, then: v1.ConditionTrue, passes: time.Hour, evicted: true},
		"Ready, and NotReady for less than the timeout":    {age: longAgo, first: v1.ConditionTrue, then: v1.ConditionFalse, passes: 9 * time.Minute, reports: true},
		"Ready, and NotReady for longer than the timeout":  {age: longAgo, first: v1.ConditionTrue, then: v1.ConditionFalse, passes: 11 * time.Minute, reports: true, evicted: true},
		"Unknown, and Ready again for longer than that":    {age: longAgo, first: v1.ConditionUnknown, then: v1.ConditionTrue, passes: time.Hour, reports: true},
		"Unknown, and NotReady for longer than that":       {age: longAgo, first: v1.ConditionUnknown, then: v1.ConditionFalse, passes: time.Hour, reports: true, evicted: true},
		"NotReady, silent and so Unknown for an hour":      {age: longAgo, first: v1.ConditionFalse, then: v1.ConditionFalse, passes: time.Hour, evicted: true},
		"without status for an hour, and never heard from": {age: longAgo, passes: time.Hour, evicted: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := upstreamsConfig()
			cfg.TaintBasedEviction = false
			u := newUpstreams(t, cfg)
			at := map[bool]string{true: "", false: "zone1"}[row.noZone]
			u.node("node0", at, row.age, row.first)
			u.node("node1", at, longAgo, v1.ConditionTrue)
			u.reporting["node1"] = true
			pod := u.pod("pod0", "node0")
			if row.daemon {
				yes := true
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "ds0", Controller: &yes}}
			}
			u.pass(0)
			for _, node := range []string{"node0", "node1"} {
				u.change(node, func(n *v1.Node) { n.Labels = zoneLabels("zone1") })
			}
			if row.then != row.first {
				u.says("node0", row.then)
			}
			u.reporting["node0"] = row.reports
			if !row.reports {
				delete(u.reporting, "node0")
			}
			u.pass(row.passes)
			require.Equal(t, row.evicted, len(u.evicted) == 1)
			for _, taint := range u.nodes["node0"].Spec.Taints {
				require.Equal(t, v1.TaintEffectNoSchedule, taint.Effect)
			}
		})
	}
}

// zoneRow is a row of TestMonitorNodeHealth (which states) and TestMonitorNodeHealthEvictPodsWithDisruption (whether
// the first node's pod leaves, an hour later). A node is written as its zone and what it reports, first and then; a
// star excludes it from disruption checks, as upstream does for masters.
type zoneRow struct {
	nodes       []string
	first, then map[string]string
	evicted     bool
}

func TestUpstreamsZoneStates(t *testing.T) {
	const normal, partial, full = "Normal", "PartialDisruption", "FullDisruption"
	for name, row := range map[string]zoneRow{
		"one that is well, without labels":        {[]string{" TT"}, map[string]string{"": normal}, map[string]string{"": normal}, false},
		"both zones down, one comes back":         {[]string{"1 UU", "2 UT"}, map[string]string{"1": full, "2": full}, map[string]string{"1": full, "2": normal}, true},
		"without status, then partly down":        {[]string{"1 -U", "1 -U", "1 -U", "1 -T"}, map[string]string{"1": full}, map[string]string{"1": partial}, true},
		"two of five down, then three":            {[]string{"1 UU", "1 UU", "1 TU", "1 TT", "1 TT"}, map[string]string{"1": normal}, map[string]string{"1": partial}, true},
		"two of three down, then the last":        {[]string{"1 UU", "1 UU", "1 TU"}, map[string]string{"1": normal}, map[string]string{"1": full}, false},
		"one zone of two down":                    {[]string{"1 UU", "2 TT"}, map[string]string{"1": full, "2": normal}, map[string]string{"1": full, "2": normal}, true},
		"both zones down":                         {[]string{"1 UU", "2 UU"}, map[string]string{"1": full, "2": full}, map[string]string{"1": full, "2": full}, false},
		"the only zone down":                      {[]string{"1 UU", "1 UU"}, map[string]string{"1": full}, map[string]string{"1": full}, false},
		"the only node falls silent":              {[]string{"1 TU"}, map[string]string{"1": normal}, map[string]string{"1": full}, false},
		"only a node that does not count is well": {[]string{"1 UU", "1 TT*"}, map[string]string{"1": full}, map[string]string{"1": full}, false},
		"partly down all the time":                {[]string{"1 UU", "1 UU", "1 UU", "1 TT", "1 TT"}, map[string]string{"1": partial}, map[string]string{"1": partial}, true},
	} {
		for _, taintBased := range []bool{true, false} {
			t.Run(fmt.Sprint(name, taintBased), func(t *testing.T) { row.play(t, taintBased) })
		}
	}
}

func (row zoneRow) play(t *testing.T, taintBased bool) {
	cfg := upstreamsConfig()
	cfg.TaintBasedEviction = taintBased
	cfg.LargeClusterSizeThreshold = 0 // upstream's test replaces the rate of a disrupted zone
	u := newUpstreams(t, cfg)
	status := map[byte]v1.ConditionStatus{'T': v1.ConditionTrue, 'U': v1.ConditionUnknown, '-': ""}
	for i, n := range row.nodes {
		name := fmt.Sprint("node", i)
		at := len(n) - len("UU")
		if n[len(n)-1] == '*' {
			at--
		}
		u.node(name, n[:at-1], 0, status[n[at]])
		if n[len(n)-1] == '*' {
			u.change(name, func(n *v1.Node) { n.Labels[zone.LabelExcludeDisruption] = "" })
		}
	}
	pod := u.pod("pod0", "node0")
	seconds := int64(600)
	pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}}
	u.pass(0)
	require.Equal(t, row.first, u.zoneStates())
	require.Empty(t, u.evicted)
	for i, n := range row.nodes {
		name := fmt.Sprint("node", i)
		then := n[len(n)-1]
		if then == '*' {
			then = n[len(n)-2]
		}
		if u.says(name, status[then]); then == 'T' {
			u.reporting[name] = true
		}
	}
	u.pass(time.Hour)
	require.Equal(t, row.then, u.zoneStates())
	require.Equal(t, row.evicted, len(u.evicted) == 1)
}

// TestMonitorNodeHealthMarkPodsNotReady, ...WithWorkerSize, TestMonitorNodeHealthUpdateNodeAndPodStatusWithLease and
// TestProcessPodMarkPodNotReady: which pods are marked.
func TestUpstreamsMarkPodsNotReady(t *testing.T) {
	for name, row := range map[string]struct {
		age     time.Duration
		says    v1.ConditionStatus
		lease   bool
		renews  bool
		reports bool
		passes  time.Duration
		marks   int
	}{
		"new without status":  {},
		"with a fresh status": {age: longAgo, says: v1.ConditionTrue},
		"with a stale status": {age: longAgo, says: v1.ConditionTrue, passes: time.Minute, marks: 100},
		// Upstream marks none here: a Ready pod on a node that was never Ready exists only in its tests.
		"without status for an hour":               {age: longAgo, passes: time.Hour, marks: 100},
		"without status, its lease expired":        {age: longAgo, lease: true, passes: time.Hour, marks: 100},
		"without status, its lease renewed":        {age: longAgo, lease: true, renews: true, passes: time.Hour},
		"with a stale status and a renewed lease":  {age: longAgo, says: v1.ConditionTrue, lease: true, renews: true, passes: time.Hour},
		"with fresh reports and an expired lease":  {age: longAgo, says: v1.ConditionTrue, lease: true, reports: true, passes: time.Hour},
		"with a stale status and an expired lease": {age: longAgo, says: v1.ConditionTrue, lease: true, passes: time.Hour, marks: 100},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstreams(t, upstreamsConfig())
			u.node("node0", "", row.age, row.says)
			u.node("other", "other", row.age, v1.ConditionTrue)
			u.reporting["other"] = true // otherwise every zone would be down, and we mark nothing
			for i := range 100 {
				u.pod(fmt.Sprint("pod", i), "node0")
			}
			if row.lease {
				u.e.LeaseRenewed("node0", u.clk.Now())
			}
			u.pass(0)
			if row.reports {
				u.reporting["node0"] = true
			}
			for passed := time.Duration(0); passed < row.passes; passed += 10 * time.Second {
				u.pass(10 * time.Second)
				if row.renews {
					u.e.LeaseRenewed("node0", u.clk.Now())
				}
			}
			require.Equal(t, row.marks, u.marks)
		})
	}
}

// TestMonitorNodeHealthMarkPodsNotReadyRetry: a failed mark is retried, once.
func TestUpstreamsMarkPodsNotReadyRetry(t *testing.T) {
	for _, failures := range []int{0, 1, 3} {
		u := newUpstreams(t, upstreamsConfig())
		u.node("node0", "zone1", longAgo, v1.ConditionTrue)
		u.node("node1", "zone2", longAgo, v1.ConditionTrue)
		u.reporting["node1"] = true
		u.pod("pod0", "node0")
		u.fail = func(string) error {
			if u.marks <= failures {
				return errors.New("fake error")
			}
			return nil
		}
		u.pass(2 * time.Minute)
		u.says("node0", v1.ConditionFalse)
		u.pass(time.Minute)
		require.Equal(t, failures+1, u.marks)
	}
}
