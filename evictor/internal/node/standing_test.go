package node

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Everything speaks against harm; the reasons go one by one, the strongest first.
func TestStandingIsTheFirstReason(t *testing.T) {
	f := Facts{World: World{AllDown: true, Cancelled: true, Hold: "repair"}, Ready: v1.ConditionTrue, Says: v1.ConditionTrue, Settling: true, Carries: true}
	require.Equal(t, Unjudged, f.Standing())
	for _, step := range []struct {
		what  string
		do    func()
		want  Standing
		why   string
		marks bool
	}{
		{"a verdict falls", func() { f.Judged = true }, Ready, "NodeReady", false},
		{"the node loses its Ready condition", func() { f.Ready = "" }, AllDown, "AllZonesDown", false},
		{"a zone is up again", func() { f.AllDown = false }, Cancelled, "ZonePolicy", false},
		{"the zone policy has it go on", func() { f.Cancelled = false }, Held, "repair", false},
		{"the hold ends", func() { f.Hold = "" }, NoCondition, "NotFailed", false},
		{"the condition is back, and Unknown", func() { f.Ready = v1.ConditionUnknown }, Settling, "NotSettled", false},
		{"it is held anew", func() { f.Hold = "repair" }, Held, "repair", false},
		{"it has been watched for a grace period", func() { f.Settling = false }, Held, "repair", true},
		{"that hold ends too", func() { f.Hold = "" }, Reported, "NodeReady", true},
		{"its object was never Ready", func() { f.Says = v1.ConditionUnknown }, Tainted, "Tainted", true},
		{"somebody removes the taint", func() { f.Carries = false }, Harmable, "", true},
		{"its kubelet says not Ready", func() { f.Ready, f.Says = v1.ConditionFalse, v1.ConditionFalse }, Harmable, "", false},
	} {
		step.do()
		s := f.Standing()
		require.Equal(t, step.want, s, step.what)
		require.Equal(t, step.why, f.Why(), step.what)
		require.Equal(t, step.marks, f.Marks(), step.what)
		require.Equal(t, s == Harmable, s.MayBeHarmed(), step.what)
		require.Equal(t, s == Reported || s == Tainted || s == Harmable, s.Wanted(), step.what)
	}
	require.Equal(t, "Held", Held.String())
}

// Who has not been judged has not failed, whatever is noted of him.
func TestFailing(t *testing.T) {
	for status, want := range map[v1.ConditionStatus]bool{"": false, v1.ConditionTrue: false, v1.ConditionFalse: true, v1.ConditionUnknown: true} {
		f := Facts{Judged: true, Ready: status}
		require.Equal(t, want, f.Failing(), status)
		f.Judged = false
		require.False(t, f.Failing(), status)
	}
}

// A report of the kubelet counts from the instant it is seen. What an object said before its node fell silent does not.
func TestReported(t *testing.T) {
	for name, row := range map[string]struct {
		says          v1.ConditionStatus
		expired, beat bool
		want          Standing
	}{
		"silent, our Unknown is not written yet":   {v1.ConditionTrue, true, false, Harmable},
		"silent, and then Ready":                   {v1.ConditionTrue, true, true, Reported},
		"silent, and then a report of not Ready":   {v1.ConditionFalse, true, true, Harmable},
		"not Ready, and then Ready":                {v1.ConditionTrue, false, true, Reported},
		"not Ready, Ready was seen with no beat":   {v1.ConditionTrue, false, false, Reported},
		"not Ready, and a beat that says so still": {v1.ConditionFalse, false, true, Harmable},
	} {
		f := Facts{Judged: true, Ready: v1.ConditionUnknown, Expired: row.expired, Says: row.says, Beat: row.beat}
		require.Equal(t, row.want, f.Standing(), name)
	}
}

// A node carries the taint because of its own turn, or because somebody else gave it.
func TestTaintedIsNotByItsTurn(t *testing.T) {
	for _, row := range []struct {
		carries, turn bool
		want          Standing
	}{{false, false, Harmable}, {false, true, Harmable}, {true, false, Tainted}, {true, true, Harmable}} {
		f := Facts{Judged: true, Ready: v1.ConditionFalse, Carries: row.carries, World: World{Turn: row.turn}}
		require.Equal(t, row.want, f.Standing())
	}
}

// Pods are marked of a node that is Unknown and has not spoken since.
func TestMarks(t *testing.T) {
	f := Facts{Judged: true, Ready: v1.ConditionUnknown}
	require.True(t, f.Silent())
	require.True(t, f.Marks())
	f.Hold = "repair"
	require.True(t, f.Marks(), "it is no harm")
	require.Equal(t, "repair", f.Hold, "asking changes nothing")
	f.Cancelled = true
	require.True(t, f.Marks(), "nor what is pending")
	f.AllDown = true
	require.True(t, f.Silent())
	require.False(t, f.Marks())
	f.AllDown, f.Settling = false, true
	require.False(t, f.Marks())
	f.Settling, f.Beat = false, true
	require.False(t, f.Silent())
	require.False(t, f.Marks())
}

// Between the plan and the write the world goes on.
func TestTaintsAreAskedForOnceMore(t *testing.T) {
	for name, row := range map[string]struct {
		change        func(*Facts)
		turn, swapped bool // whether it is written on a turn, and in the place of another
	}{
		"nothing happened":                {func(*Facts) {}, true, true},
		"the turn was taken back":         {func(f *Facts) { f.Turn = false }, false, true},
		"the kubelet reported Ready":      {func(f *Facts) { f.Says, f.Beat = v1.ConditionTrue, true }, false, false},
		"the verdict is Ready":            {func(f *Facts) { f.Ready = v1.ConditionTrue }, false, false},
		"it was held":                     {func(f *Facts) { f.Hold = "repair" }, false, false},
		"every zone went down":            {func(f *Facts) { f.AllDown = true }, false, false},
		"the zone policy cancels":         {func(f *Facts) { f.Cancelled = true }, false, false},
		"the condition went":              {func(f *Facts) { f.Ready = "" }, false, false},
		"the clocks started anew":         {func(f *Facts) { f.Settling = true }, false, true},
		"they did, and it reported Ready": {func(f *Facts) { f.Settling, f.Says, f.Beat = true, v1.ConditionTrue, true }, false, false},
	} {
		f := Facts{Judged: true, Ready: v1.ConditionUnknown, Expired: true, Says: v1.ConditionUnknown, World: World{Turn: true}}
		row.change(&f)
		require.Equal(t, row.turn, f.Taints(false), name)
		require.Equal(t, row.swapped, f.Taints(true), name)
	}
}
