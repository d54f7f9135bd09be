package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/taints"
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
			cfg.Nodes.TaintBasedEviction = false
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
	cfg.Nodes.TaintBasedEviction = taintBased
	cfg.Nodes.LargeClusterSizeThreshold = 0 // upstream's test replaces the rate of a disrupted zone
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
			u.change(name, func(n *v1.Node) { n.Labels["node.kubernetes.io/exclude-disruption"] = "" })
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
				u.e.LeaseObserved("node0", u.clk.Now(), "")
			}
			u.pass(0)
			if row.reports {
				u.reporting["node0"] = true
			}
			for passed := time.Duration(0); passed < row.passes; passed += 10 * time.Second {
				u.pass(10 * time.Second)
				if row.renews {
					u.e.LeaseObserved("node0", u.clk.Now(), "")
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

// upstreams is a cluster of objects like those of upstream's tests. It shows what is written, and its kubelets do only
// what the test says.
type upstreams struct {
	bare
	t         *testing.T
	clk       *testingclock.FakePassiveClock
	e         *tested
	reporting map[string]bool // repeat their last report at every pass
	fail      func(write string) error
	evicted   []string
	marks     int // tries
}

// upstreamsConfig are the settings of upstream's tests.
func upstreamsConfig() evictor.Config {
	cfg := evictor.DefaultConfig()
	cfg.Nodes.NodeEvictionRate, cfg.Nodes.SecondaryNodeEvictionRate, cfg.Nodes.LargeClusterSizeThreshold = 100000, 100000, 20
	cfg.Nodes.PodEvictionTimeout = 10 * time.Minute
	return cfg
}

func newUpstreams(t *testing.T, cfg evictor.Config, observers ...evictor.Observer) *upstreams {
	u := &upstreams{
		bare: bare{nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{}},
		t:    t, clk: testingclock.NewFakePassiveClock(evictortest.Epoch),
		reporting: map[string]bool{}, fail: func(string) error { return nil },
	}
	var err error
	u.e, err = newTested(cfg, evictor.Clients{Nodes: u, Pods: u, NodeWriter: u, PodWriter: u}, evictor.Options{Clock: u.clk, Observer: evictor.Observers(observers)})
	require.NoError(t, err)
	return u
}

// node adds a node that was created that long ago, in a zone or, if zone is empty, in none. It reports that Ready
// status, or nothing.
func (u *upstreams) node(name, zone string, age time.Duration, ready v1.ConditionStatus) {
	n := &v1.Node{}
	n.Name, n.UID, n.Labels = name, types.UID(name), zoneLabels(zone)
	n.CreationTimestamp = metav1.NewTime(u.clk.Now().Add(-age))
	u.nodes[name] = n
	u.says(name, ready)
}

const longAgo = 3 * 365 * 24 * time.Hour

func zoneLabels(zone string) map[string]string {
	if zone == "" {
		return map[string]string{}
	}
	return map[string]string{
		v1.LabelTopologyRegion: "region1", v1.LabelTopologyZone: zone,
		v1.LabelFailureDomainBetaRegion: "region1", v1.LabelFailureDomainBetaZone: zone,
	}
}

// says makes a kubelet report.
func (u *upstreams) says(name string, ready v1.ConditionStatus) {
	if ready == "" {
		u.conditions(name)
		return
	}
	u.conditions(name, v1.NodeCondition{Type: v1.NodeReady, Status: ready})
}

func (u *upstreams) conditions(name string, conditions ...v1.NodeCondition) {
	u.change(name, func(n *v1.Node) {
		for i := range conditions {
			now := metav1.NewTime(u.clk.Now())
			conditions[i].LastHeartbeatTime, conditions[i].LastTransitionTime = now, now
			for _, old := range n.Status.Conditions {
				if old.Type == conditions[i].Type && old.Status == conditions[i].Status {
					conditions[i].LastTransitionTime = old.LastTransitionTime
				}
			}
		}
		n.Status.Conditions = conditions
	})
}

func (u *upstreams) change(name string, change func(*v1.Node)) {
	n := u.nodes[name].DeepCopy()
	change(n)
	u.nodes[name] = n
	u.e.NodeChanged(name)
}

// pod adds a pod that is Ready and tolerates everything.
func (u *upstreams) pod(name, node string) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID, pod.Spec.NodeName = "default", name, types.UID(name), node
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	key := evictor.PodKey{Namespace: "default", Name: name}
	u.pods[key] = pod
	u.e.PodChanged(key)
	return pod
}

// pass lets time pass, and looks once more at the end.
func (u *upstreams) pass(d time.Duration) {
	for until := u.clk.Now().Add(d); ; {
		_, err := u.e.Step(context.Background())
		require.NoError(u.t, err)
		if !u.clk.Now().Before(until) {
			return
		}
		u.clk.SetTime(u.clk.Now().Add(5 * time.Second))
		for name, reports := range u.reporting {
			if !reports {
				continue
			}
			u.conditions(name, slices.Clone(u.nodes[name].Status.Conditions)...)
		}
	}
}

func (u *upstreams) taints(name string) []string {
	list := []string{}
	for _, taint := range u.nodes[name].Spec.Taints {
		list = append(list, taint.ToString())
	}
	slices.Sort(list)
	return list
}

// zoneStates returns the states of the zones, by name.
func (u *upstreams) zoneStates() map[string]string {
	states := map[string]string{}
	for _, z := range u.e.Nodes().Zones() {
		states[z.Zone.Zone] = fmt.Sprint(z.State)
	}
	return states
}

func (u *upstreams) UpdateConditions(_ context.Context, n *v1.Node, conditions []v1.NodeCondition) error {
	u.change(n.Name, func(n *v1.Node) {
		for _, c := range conditions {
			n.Status.Conditions = append(slices.DeleteFunc(n.Status.Conditions, func(old v1.NodeCondition) bool { return old.Type == c.Type }), c)
		}
	})
	return nil
}

func (u *upstreams) UpdateTaints(_ context.Context, n *v1.Node, change taints.Change) error {
	u.change(n.Name, func(n *v1.Node) { n.Spec.Taints = change.Apply(n.Spec.Taints, u.clk.Now()) })
	return nil
}

func (u *upstreams) UpdateLabels(_ context.Context, n *v1.Node, labels map[string]string) error {
	if err := u.fail("labels"); err != nil {
		return err
	}
	u.change(n.Name, func(n *v1.Node) {
		for key, value := range labels {
			n.Labels[key] = value
		}
	})
	return nil
}

func (u *upstreams) Evict(_ context.Context, p evictor.PodRef, _ taints.Deadline) error {
	u.evicted = append(u.evicted, p.Name)
	delete(u.pods, p.PodKey)
	u.e.PodChanged(p.PodKey)
	return nil
}

func (u *upstreams) MarkNotReady(_ context.Context, p evictor.PodRef) error {
	u.marks++
	if err := u.fail("podStatus"); err != nil {
		return err
	}
	pod := u.pods[p.PodKey].DeepCopy()
	pod.Status.Conditions[0].Status = v1.ConditionFalse
	u.pods[p.PodKey] = pod
	u.e.PodChanged(p.PodKey)
	return nil
}

// Upstream's tests about taints and labels.

const (
	unready     = "node.kubernetes.io/not-ready"
	unreachable = "node.kubernetes.io/unreachable"
)

func bothEffects(key string) []string { return []string{key + ":NoExecute", key + ":NoSchedule"} }

// TestApplyNoExecuteTaints and TestApplyNoExecuteTaintsToUnreachableNode: taints are added and lifted with their
// conditions, and none is added for a condition that is missing by the time of its turn. A node that was silent before the
// start is watched for a grace first.
func TestUpstreamsApplyNoExecuteTaints(t *testing.T) {
	u := newUpstreams(t, upstreamsConfig())
	u.node("node0", "zone1", longAgo, v1.ConditionUnknown)
	u.node("node1", "zone1", longAgo, v1.ConditionTrue)
	u.node("node2", "zone1", longAgo, v1.ConditionFalse)
	u.node("node3", "zone1", longAgo, v1.ConditionTrue)
	u.node("node4", "zone1", longAgo, v1.ConditionTrue)
	for _, name := range []string{"node1", "node2", "node3", "node4"} {
		u.reporting[name] = true
	}
	u.pass(50 * time.Second)
	require.Equal(t, []string{unreachable + ":NoSchedule"}, u.taints("node0"))
	require.Equal(t, bothEffects(unready), u.taints("node2"))
	u.pass(5 * time.Second)
	u.reporting["node4"] = false
	u.pass(5 * time.Second)
	require.Equal(t, bothEffects(unreachable), u.taints("node0"))
	require.Empty(t, u.taints("node1"))
	require.Equal(t, bothEffects(unready), u.taints("node2"))
	require.Empty(t, u.taints("node4"), "its report is within the grace period")

	u.says("node2", v1.ConditionTrue)
	u.pass(5 * time.Second)
	require.Empty(t, u.taints("node2"), "well again")

	u.says("node3", v1.ConditionFalse)
	u.conditions("node3", v1.NodeCondition{Type: v1.NodeMemoryPressure, Status: v1.ConditionUnknown})
	u.pass(5 * time.Second)
	require.Empty(t, u.taints("node3"), "it does not say any more")
	u.says("node3", v1.ConditionTrue)

	u.pass(40 * time.Second)
	require.Equal(t, bothEffects(unreachable), u.taints("node4"), "and now it is not")
	require.Empty(t, u.taints("node1"))
	u.says("node4", v1.ConditionTrue)
	u.pass(5 * time.Second)
	require.Empty(t, u.taints("node4"))
}

// TestApplyNoExecuteTaintsToNodesEnqueueTwice: a node that waits, recovers and waits again delays no other. The rate
// makes them wait.
func TestUpstreamsNodeThatWaitsTwice(t *testing.T) {
	cfg := upstreamsConfig()
	cfg.Nodes.NodeEvictionRate = 0.1
	u := newUpstreams(t, cfg)
	for name, says := range map[string]v1.ConditionStatus{"node0": v1.ConditionUnknown, "node1": v1.ConditionTrue, "node2": v1.ConditionFalse, "node6": v1.ConditionTrue} {
		u.node(name, "zone1", longAgo, says)
	}
	u.reporting["node1"], u.reporting["node2"], u.reporting["node6"] = true, true, true
	u.pass(5 * time.Second)
	u.says("node0", v1.ConditionTrue)
	u.reporting["node0"] = true
	u.pass(5 * time.Second)
	for name, says := range map[string]v1.ConditionStatus{"node3": v1.ConditionUnknown, "node4": v1.ConditionTrue, "node5": v1.ConditionFalse} {
		u.node(name, "zone1", longAgo, says)
	}
	u.reporting["node4"], u.reporting["node5"] = true, true
	u.pass(5 * time.Second)
	u.pass(time.Minute)
	require.Empty(t, u.taints("node0"))
	require.Equal(t, bothEffects(unready), u.taints("node2"))
	require.Equal(t, bothEffects(unreachable), u.taints("node3"))
	require.Equal(t, bothEffects(unready), u.taints("node5"))
}

// TestSwapUnreachableNotReadyTaints: an unreachable node that reports not Ready gets the other taint, and back again.
func TestUpstreamsSwapOfTaints(t *testing.T) {
	u := newUpstreams(t, upstreamsConfig())
	u.node("node0", "zone1", longAgo, v1.ConditionUnknown)
	u.node("node1", "zone1", longAgo, v1.ConditionTrue)
	u.reporting["node1"] = true
	u.pass(55 * time.Second)
	require.Equal(t, bothEffects(unreachable), u.taints("node0"))
	u.says("node0", v1.ConditionFalse)
	u.pass(5 * time.Second)
	require.Equal(t, bothEffects(unready), u.taints("node0"))
	u.pass(time.Minute)
	require.Equal(t, bothEffects(unreachable), u.taints("node0"))
}

// TestTaintsNodeByCondition: a node has NoSchedule taints for the conditions that it reports. There are no NoExecute
// taints here, because the rate is 0.
func TestUpstreamsTaintsByCondition(t *testing.T) {
	cfg := upstreamsConfig()
	cfg.Nodes.NodeEvictionRate = 0
	u := newUpstreams(t, cfg)
	u.node("node0", "zone1", longAgo, v1.ConditionTrue)
	u.node("node1", "zone1", longAgo, v1.ConditionTrue)
	u.reporting["node0"], u.reporting["node1"] = true, true
	u.pass(5 * time.Second)
	for _, row := range []struct {
		says []v1.NodeCondition
		want []string
	}{
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}, {Type: v1.NodeNetworkUnavailable, Status: v1.ConditionTrue}}, []string{"node.kubernetes.io/network-unavailable:NoSchedule"}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}, {Type: v1.NodeNetworkUnavailable, Status: v1.ConditionFalse}}, []string{}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}, {Type: v1.NodeMemoryPressure, Status: v1.ConditionTrue}, {Type: v1.NodeDiskPressure, Status: v1.ConditionTrue}, {Type: v1.NodePIDPressure, Status: v1.ConditionUnknown}}, []string{"node.kubernetes.io/disk-pressure:NoSchedule", "node.kubernetes.io/memory-pressure:NoSchedule"}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}}, []string{unready + ":NoSchedule"}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}, []string{unreachable + ":NoSchedule"}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}, []string{}},
	} {
		u.conditions("node0", row.says...)
		u.pass(5 * time.Second)
		require.Equal(t, row.want, u.taints("node0"))
	}
}

// TestReconcileNodeLabels: the deprecated labels follow the stable ones, and nothing else is touched.
func TestUpstreamsReconcileLabels(t *testing.T) {
	const region, stableOS, stableArch, betaOS, betaArch = v1.LabelTopologyRegion, v1.LabelOSStable, v1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch"
	both := map[string]string{stableOS: "linux", stableArch: "amd64", betaOS: "linux", betaArch: "amd64"}
	for name, row := range map[string][2]map[string]string{
		"none":            {{}, {}},
		"none of them":    {{region: "region1"}, {region: "region1"}},
		"missing":         {{stableOS: "linux", stableArch: "amd64"}, both},
		"others":          {{stableOS: "linux", stableArch: "amd64", betaOS: "windows", betaArch: "arm"}, both},
		"deprecated only": {{betaOS: "windows"}, {betaOS: "windows"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstreams(t, upstreamsConfig())
			u.node("node0", "", longAgo, v1.ConditionTrue)
			u.nodes["node0"].Labels = row[0]
			u.pass(5 * time.Second)
			require.Equal(t, row[1], u.nodes["node0"].Labels)
		})
	}
}
