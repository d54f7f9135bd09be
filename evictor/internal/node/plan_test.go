package node

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// Where nodes are emptied a plan taints none, its turn or not: its pods are evicted one by one.
func TestWithoutTaints(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*Input)
		want   string
	}{
		"no turn":              {func(*Input) {}, ""},
		"its turn":             {func(in *Input) { in.Turn = true }, ""},
		"a turn to be tainted": {func(in *Input) { in.Turn, in.TaintBased = true, true }, "+unreachable:NoExecute"},
		"not permitted":        {func(in *Input) { in.Turn, in.NoHarm = true, true }, ""},
		"held":                 {func(in *Input) { in.Turn, in.Hold = true, "repair" }, "-unreachable:NoSchedule lift"},
		"a taint of an old mode stays": {func(in *Input) {
			in.Node.Spec.Taints = append(in.Node.Spec.Taints, v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute})
		}, ""},
	} {
		w := failed()
		w.TaintBased = false
		row.change(&w.Input)
		require.Equal(t, row.want, told(w.Plan()), name)
	}
}

// Nodes are declared Unknown before anybody's pods are marked.
func TestConditionsAndMarks(t *testing.T) {
	const unknown = "Ready=Unknown MemoryPressure=Unknown DiskPressure=Unknown PIDPressure=Unknown"
	for name, row := range map[string]struct {
		change func(*Input)
		want   string
	}{
		"conditions, and pods later":  {func(*Input) {}, unknown + " again"},
		"no pods are left to mark":    {func(in *Input) { in.Unmarked = false }, unknown},
		"the conditions are written":  {func(in *Input) { in.Unwritten = false }, "+not-ready:NoSchedule -unreachable:NoSchedule mark"},
		"it is not silent":            {func(in *Input) { in.Expired = false }, "+not-ready:NoSchedule -unreachable:NoSchedule mark"},
		"it has spoken since":         {func(in *Input) { in.Beat = true }, "+not-ready:NoSchedule -unreachable:NoSchedule"},
		"it is to be emptied as well": {func(in *Input) { in.TaintBased, in.Turn = false, true }, unknown + " again"},
	} {
		w := failed()
		w.Unwritten, w.Unmarked = true, true
		w.Node.Status.Conditions[0].Status = v1.ConditionFalse
		row.change(&w.Input)
		require.Equal(t, row.want, told(w.Plan()), name)
	}
	w := failed()
	w.Node = healthy()
	w.Unwritten = true
	p := w.Plan()
	require.Equal(t, at(0), p.Conditions[0].LastTransitionTime.Time)
}

func TestLabels(t *testing.T) {
	for name, row := range map[string]struct {
		labels map[string]string
		want   string
	}{
		"none":              {nil, ""},
		"missing":           {map[string]string{v1.LabelOSStable: "linux", v1.LabelArchStable: "arm64"}, "label linux label arm64"},
		"one differs":       {map[string]string{v1.LabelOSStable: "linux", "beta.kubernetes.io/os": "linux", v1.LabelArchStable: "arm64", "beta.kubernetes.io/arch": "amd64"}, "label arm64"},
		"the same":          {map[string]string{v1.LabelOSStable: "linux", "beta.kubernetes.io/os": "linux"}, ""},
		"an empty one":      {map[string]string{v1.LabelOSStable: ""}, "label "},
		"only the old ones": {map[string]string{"beta.kubernetes.io/os": "linux"}, ""},
	} {
		node := healthy()
		node.Labels = row.labels
		in := Input{Node: node, Facts: Facts{Judged: true, Ready: v1.ConditionTrue}}
		p := in.Plan()
		require.Equal(t, row.want, told(p), name)
		require.Equal(t, row.want == "", p.Nothing(), name)
	}
}

// What lifts is left to workers of its own, which write nothing else.
func TestPlanInTwo(t *testing.T) {
	change := taints.Change{Remove: []v1.Taint{{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}}}
	whole := Plan{Conditions: make([]v1.NodeCondition, 1), Change: change, Labels: map[string]string{"a": "b"}, Mark: true, Again: true, Tainted: true}
	require.Equal(t, Plan{Change: change, Tainted: true}, whole.Taints())
	require.Equal(t, whole, whole.Rest(), "it does not lift")
	whole.Lift = true
	require.Equal(t, Plan{Change: change, Tainted: true, Lift: true}, whole.Taints())
	rest := whole
	rest.Change = taints.Change{}
	require.Equal(t, rest, whole.Rest())
	require.Equal(t, change, whole.Change, "it stays whole")

	for _, one := range []Plan{{Conditions: make([]v1.NodeCondition, 1)}, {Change: change}, {Labels: map[string]string{"a": "b"}}, {Mark: true}} {
		require.False(t, one.Nothing())
	}
	require.True(t, (&Plan{Lift: true, Tainted: true, Again: true}).Nothing())
}

func TestReadyOf(t *testing.T) {
	node := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: "A", Status: "False"}, {Type: v1.NodeReady, Status: "True"}}}}
	require.Same(t, &node.Status.Conditions[1], ReadyOf(node))
	require.Equal(t, &v1.NodeCondition{}, ReadyOf(&v1.Node{}))
}

func TestOverlay(t *testing.T) {
	have := []v1.NodeCondition{{Type: "A", Status: "True"}, {Type: "B", Status: "True"}}
	require.Equal(t, []v1.NodeCondition{{Type: "A", Status: "True"}, {Type: "B", Status: "Unknown"}, {Type: "C", Status: "Unknown"}},
		Overlay(have, []v1.NodeCondition{{Type: "B", Status: "Unknown"}, {Type: "C", Status: "Unknown"}}))
	require.Equal(t, v1.ConditionStatus("True"), have[1].Status)
	require.Same(t, &have[0], &Overlay(have, nil)[0], "nothing is copied for nothing")
	require.Equal(t, have, Overlay(nil, have))
}

func TestOurTaints(t *testing.T) {
	for name, row := range map[string]struct {
		taint              v1.Taint
		managed, noExecute bool
	}{
		"not-ready":      {v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}, true, true},
		"unreachable":    {v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}, true, true},
		"not scheduled":  {v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}, true, false},
		"cordoned":       {v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}, true, false},
		"of a stranger":  {v1.Taint{Key: "gpu", Effect: v1.TaintEffectNoExecute}, false, false},
		"another effect": {v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectPreferNoSchedule}, false, false},
	} {
		node := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}, row.taint}}}
		require.Equal(t, row.managed, Managed(&row.taint), name)
		require.Equal(t, row.noExecute, HasNoExecute(node), name)
		p := Plan{Change: taints.Change{Add: node.Spec.Taints}}
		require.Equal(t, row.noExecute, p.Harms(), name)
	}
}

// The NoSchedule taint of an unready node stays for as long as its NoExecute one does, and no longer; other conditions' follow them.
func TestTaintsOfAnUnreadyNode(t *testing.T) {
	noSchedule := func(key string) v1.Taint { return v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule} }
	execute := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	for name, row := range map[string]struct {
		ready    v1.ConditionStatus
		pressure bool // on its disk
		noHarm   bool
		have     []v1.Taint
		want     string
	}{
		"its condition is gone, and it was not tainted": {"", false, false, []v1.Taint{noSchedule(v1.TaintNodeUnreachable)}, "-unreachable:NoSchedule lift"},
		"it was":               {"", false, false, []v1.Taint{noSchedule(v1.TaintNodeUnreachable), execute}, ""},
		"by somebody, lately":  {"", false, false, []v1.Taint{execute}, ""},
		"beside another":       {"", true, false, []v1.Taint{noSchedule(v1.TaintNodeUnreachable), execute}, "+disk-pressure:NoSchedule"},
		"which goes":           {"", false, false, []v1.Taint{noSchedule(v1.TaintNodeDiskPressure), execute}, "-disk-pressure:NoSchedule lift"},
		"Ready, under another": {v1.ConditionTrue, true, true, []v1.Taint{noSchedule(v1.TaintNodeUnreachable)}, "-unreachable:NoSchedule lift"},
	} {
		in := Input{Node: healthy(), Facts: Facts{World: World{TaintBased: true, NoHarm: row.noHarm}, Judged: true, Ready: row.ready}}
		in.Node.Spec.Taints = row.have
		if row.pressure {
			in.Node.Status.Conditions[2].Status = v1.ConditionTrue
		}
		require.Equal(t, row.want, told(in.Plan()), name)
	}
}

// What is left out because it is not permitted is known to wait for that, and nothing else is.
func TestWhatWaits(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*Input)
		want   bool
	}{
		"permitted":                       {func(in *Input) { in.Turn = true }, false},
		"a taint":                         {func(in *Input) { in.Turn, in.NoHarm = true, true }, true},
		"no turn, no taint":               {func(in *Input) { in.NoHarm = true }, false},
		"a NoSchedule taint":              {func(in *Input) { in.NoHarm, in.Node.Spec.Unschedulable = true, true }, true},
		"what frees waits for nothing":    {func(in *Input) { in.Hold, in.NoHarm = "repair", true }, false},
		"what is cancelled waits no more": {func(in *Input) { in.Turn, in.NoHarm, in.Cancelled = true, true, true }, false},
	} {
		w := failed()
		row.change(&w.Input)
		p := w.Plan()
		require.Equal(t, row.want, p.Waits, name)
	}
}

// A node that is as it should be costs next to nothing.
func TestPlanOfAHealthyNodeAllocatesNothing(t *testing.T) {
	in := Input{Node: healthy(), Facts: Facts{World: World{Now: at(0), TaintBased: true}, Judged: true, Ready: v1.ConditionTrue, Says: v1.ConditionTrue}}
	require.Zero(t, testing.AllocsPerRun(100, func() { in.Plan() }))
}

// A taint of ours that is to get another value only changes with its replacement: to take the old one off alone would
// leave the node without it.
func TestAnotherValueIsNoLifting(t *testing.T) {
	disk := v1.Taint{Key: v1.TaintNodeDiskPressure, Effect: v1.TaintEffectNoSchedule}
	old := disk
	old.Value = "x"
	swap := taints.Diff([]v1.Taint{old}, []v1.Taint{disk}, Managed)
	require.Equal(t, []v1.Taint{old}, swap.Remove)
	require.True(t, withoutHarm(swap).Empty())
	require.Equal(t, []v1.Taint{old}, withoutHarm(taints.Change{Remove: swap.Remove}).Remove)
}
