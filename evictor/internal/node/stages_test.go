package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// What is counted as failed: a node that carries our taint, shown or not, or was emptied.
func TestCarries(t *testing.T) {
	for name, row := range map[string]struct {
		do               func(k *known)
		carries, emptied bool
	}{
		"not yet":                        {func(*known) {}, false, false},
		"it carries the taint":           {func(k *known) { k.shows(own(v1.TaintNodeNotReady)) }, true, false},
		"it was written and not shown":   {func(k *known) { k.EndTurn(k.Facts(k.World), true, false) }, true, false},
		"for too long":                   {func(k *known) { k.EndTurn(k.Facts(k.World), true, false); k.Now = at(40) }, false, false},
		"it was emptied":                 {func(k *known) { k.TaintBased = false; k.BecomeServed() }, false, true},
		"its taint is of another's mode": {func(k *known) { k.TaintBased = false; k.shows(own(v1.TaintNodeNotReady)) }, false, false},
	} {
		k := seen()
		k.judge(v1.ConditionFalse, false)
		row.do(k)
		require.Equal(t, []bool{row.carries, row.emptied}, []bool{k.Facts(k.World).Carries, k.Emptied()}, name)
		require.NoError(t, k.Check(), name)
	}
}

// Several have a turn, and this is how it ends.
func TestEndTurn(t *testing.T) {
	for name, row := range map[string]struct {
		do              func(k *known)
		tainted, failed bool
		want            Ending
	}{
		"tainted":                             {func(*known) {}, true, false, Done},
		"tainted, and something failed after": {func(k *known) { k.Wrote(true, "1") }, true, true, Done},
		"it failed":                           {func(*known) {}, false, true, Spent},
		"nothing was written, nor failed":     {func(*known) {}, false, false, Spent},
		"it recovered":                        {func(k *known) { k.judge(v1.ConditionTrue, false) }, false, false, Dropped},
		"it recovered, and the write failed":  {func(k *known) { k.judge(v1.ConditionTrue, false) }, false, true, Spent},
		"it has just reported: who knows":     {func(k *known) { k.says(v1.ConditionTrue) }, false, false, Spent},
		"a conflict":                          {func(k *known) { k.Wrote(true, "1") }, false, true, Kept},
		"too many":                            {func(k *known) { k.conflicts = maxConflicts + 1 }, false, true, Spent},
		"as many as may be":                   {func(k *known) { k.conflicts = maxConflicts }, false, true, Kept},
		"not emptied":                         {func(k *known) { k.TaintBased = false }, false, true, Spent},
	} {
		k := seen()
		k.judge(v1.ConditionFalse, false)
		row.do(k)
		require.Equal(t, row.want, k.EndTurn(k.Facts(k.World), row.tainted, row.failed), name)
		require.Equal(t, row.want == Kept, k.conflicts > 0, name)
		require.Equal(t, row.want == Done && k.TaintBased, !k.unseen.IsZero(), name)
	}
}

// A write of an old version is tried again when the store shows another.
func TestStoryOfConflicts(t *testing.T) {
	k := seen()
	k.object.ResourceVersion = "7"
	_, movedOn := k.look(false)
	require.False(t, movedOn)
	require.Equal(t, 1, k.Wrote(true, "7"))
	require.Equal(t, 2, k.Wrote(true, "7"))
	_, movedOn = k.look(false)
	require.False(t, movedOn, "the store shows the old one still")
	k.object.ResourceVersion = "8"
	_, movedOn = k.look(false)
	require.True(t, movedOn)
	k.object.ResourceVersion = "9"
	_, movedOn = k.look(false)
	require.False(t, movedOn, "once")
	require.Equal(t, 3, k.Wrote(true, "8"))
	require.Zero(t, k.Wrote(false, "9"))
	_, movedOn = k.look(false)
	require.False(t, movedOn, "nothing is too old")
	require.Equal(t, 1, k.Wrote(true, "9"))
}

// What the next pass has to count anew.
func TestNoteSaysWhatChanged(t *testing.T) {
	r, node := Record{}, healthy()
	note := func() bool {
		changed, _ := r.Note(node, labelled(node), false, true, at(0))
		return changed
	}
	require.False(t, note())
	require.Equal(t, agreed, r.word, "it was no heartbeat")
	node.Labels = map[string]string{v1.LabelTopologyZone: "b"}
	require.True(t, note())
	require.Equal(t, zone.Key{Zone: "b"}, r.Zone)
	require.False(t, note())
	node.Labels["node.kubernetes.io/exclude-disruption"] = ""
	require.True(t, note())
	require.True(t, r.Excluded)
	node.Spec.Taints = []v1.Taint{own(v1.TaintNodeNotReady)}
	require.False(t, note())
	require.True(t, r.Tainted)
	r.Note(node, labelled(node), false, false, at(0))
	require.False(t, r.Tainted, "it is nobody's where nodes are emptied")
}

// An operator's hold goes before the program's.
func TestHolds(t *testing.T) {
	r := Record{Hold: "repair"}
	require.Equal(t, "repair", r.Facts(World{}).Hold)
	require.Equal(t, "by hand", r.Facts(World{Hold: "by hand"}).Hold)
}

// A verdict is told with what was thought before it.
func TestJudgeTellsWhatWas(t *testing.T) {
	k := seen()
	for _, row := range []struct {
		ready, from     v1.ConditionStatus
		expired, silent bool
	}{
		{v1.ConditionUnknown, v1.ConditionTrue, true, true}, // a new one: what its object says
		{v1.ConditionUnknown, v1.ConditionUnknown, true, false},
		{v1.ConditionFalse, v1.ConditionUnknown, false, false},
		{"", v1.ConditionFalse, false, false},
		{v1.ConditionTrue, "", false, false},
		{v1.ConditionUnknown, v1.ConditionTrue, true, true},
	} {
		from, silent := k.Judge(k.verdictOf(row.ready, row.expired))
		require.Equal(t, row.from, from)
		require.Equal(t, row.silent, silent)
		require.Equal(t, row.ready, k.Verdict().Ready)
		require.NoError(t, k.Check())
	}
}

// When there is something to do although nothing happens.
func TestWaitsUntil(t *testing.T) {
	for name, row := range map[string]struct {
		do      func(k *known)
		settles time.Time
		want    time.Time
	}{
		"nothing is known":                  {func(*known) {}, time.Time{}, at(5)},
		"it waits for its turn":             {func(*known) {}, at(70), at(5)},
		"watched":                           {func(k *known) { k.BecomeEarly() }, at(70), at(70)},
		"watched, and may not be silent":    {func(k *known) { k.BecomeEarly() }, time.Time{}, at(30)},
		"a taint is not shown":              {func(k *known) { k.EndTurn(k.Facts(k.World), true, false) }, time.Time{}, at(45)},
		"it is to be emptied":               {func(k *known) { k.TaintBased, k.Passes = false, true }, time.Time{}, at(60).Add(1)},
		"silent, and to be emptied":         {func(k *known) { k.TaintBased = false; k.judge(v1.ConditionUnknown, true) }, time.Time{}, at(50)},
		"Ready, and not":                    {func(k *known) { k.TaintBased = false; k.judge(v1.ConditionTrue, false) }, time.Time{}, at(5)},
		"it has lost its condition":         {func(k *known) { k.TaintBased = false; k.judge("", false) }, time.Time{}, at(5)},
		"watched comes before what it left": {func(k *known) { k.TaintBased = false; k.BecomeServed(); k.BecomeEarly() }, at(70), at(70)},
	} {
		k := seen()
		k.judge(v1.ConditionFalse, false)
		k.Now = at(5)
		row.do(k)
		require.Equal(t, row.want, k.WaitsUntil(k.Facts(k.World), k.Verdict(), row.settles), name)
	}
}

// Pods that come while others are marked are marked with them; those that were are not again.
func TestStoryOfMarks(t *testing.T) {
	var m Marks
	m.Marked("a")
	require.Nil(t, m.Done, "nobody wants it")
	require.True(t, m.MarkNow("a"))
	require.False(t, m.MarkNow("b"), "that is due already")
	m.Marked("a")
	m.Marked("b")
	m.Due = false
	require.False(t, m.MarkNow("a"))
	require.False(t, m.Due)
	require.True(t, m.MarkNow("c"))
	require.True(t, m.Due)
	m.Marked("c")
	require.Equal(t, map[types.UID]struct{}{"a": {}, "b": {}, "c": {}}, m.Done)
}

// A plan is made from the record: what it has not written, whom it has not marked, and whom it has emptied.
func TestPlanOfARecord(t *testing.T) {
	const unknown = "Ready=Unknown MemoryPressure=Unknown DiskPressure=Unknown PIDPressure=Unknown"
	for name, row := range map[string]struct {
		do   func(k *known)
		want string
	}{
		"silent":              {func(k *known) { k.judge(v1.ConditionUnknown, true) }, unknown + " +unreachable:NoSchedule again"},
		"marks are due":       {func(k *known) { k.judge(v1.ConditionUnknown, true); k.Told() }, "mark"},
		"they are done":       {func(k *known) { k.judge(v1.ConditionUnknown, true); k.Told(); k.Marks.Due = false }, ""},
		"not Ready, its turn": {func(k *known) { k.says(v1.ConditionFalse); k.judge(v1.ConditionFalse, false); k.Turn = true }, "+not-ready:NoSchedule +not-ready:NoExecute"},
		"not permitted": {func(k *known) {
			k.says(v1.ConditionFalse)
			k.judge(v1.ConditionFalse, false)
			k.Turn, k.NoHarm = true, true
		}, ""},
	} {
		k := seen()
		row.do(k)
		require.Equal(t, row.want, told(k.Plan(k.Facts(k.World), k.object, nil)), name)
	}
}

// Check finds what the transitions never do.
func TestCheck(t *testing.T) {
	verdict := func(ready v1.ConditionStatus) health.Verdict { return health.Verdict{Node: "a", Ready: ready} }
	unknown, silent := verdict(v1.ConditionUnknown), health.Verdict{Node: "a", Ready: v1.ConditionUnknown, Expired: true}
	for name, row := range map[string]struct {
		wrong Record
		right Record
	}{
		"early":    {Record{verdict: verdict(v1.ConditionTrue), early: true}, Record{verdict: unknown, early: true}},
		"new":      {Record{early: true}, Record{}},
		"left":     {Record{verdict: verdict(v1.ConditionTrue), left: gone}, Record{verdict: unknown, left: gone}},
		"begun":    {Record{verdict: verdict(v1.ConditionTrue), begun: true}, Record{verdict: unknown, begun: true}},
		"emptying": {Record{verdict: unknown, early: true, left: leaving}, Record{verdict: unknown, early: true, left: gone}},
		"write":    {Record{verdict: unknown, word: unwritten}, Record{verdict: silent, word: unwritten}},
		"heard":    {Record{word: heard}, Record{word: heard, verdict: unknown}},
		"due":      {Record{Marks: Marks{Due: true}}, Record{verdict: unknown, Marks: Marks{Due: true}}},
		"done":     {Record{Marks: Marks{Done: map[types.UID]struct{}{}}}, Record{verdict: unknown, Marks: Marks{Done: map[types.UID]struct{}{}}}},
		"both":     {Record{verdict: unknown, left: gone, Tainted: true}, Record{verdict: unknown, left: gone}},
		"both 2":   {Record{verdict: unknown, left: gone, unseen: at(0)}, Record{verdict: unknown, unseen: at(0), Tainted: true}},
	} {
		require.Error(t, row.wrong.Check(), name)
		require.NoError(t, row.right.Check(), name)
	}
}

// A node that is being emptied, and what ends that.
func TestEmptyingTransitions(t *testing.T) {
	for name, row := range map[string]struct {
		before Stage
		do     func(r *Record)
		after  Stage
	}{
		"its turn comes":                    {Failed, (*Record).BecomeEmptying, Emptying},
		"it is being emptied already":       {Emptying, (*Record).BecomeEmptying, Emptying},
		"it was emptied":                    {Served, (*Record).BecomeEmptying, Served},
		"it is ready":                       {Calm, (*Record).BecomeEmptying, Calm},
		"a pod could not be evicted":        {Emptying, (*Record).EndEmptying, Failed},
		"of one that was emptied":           {Served, (*Record).EndEmptying, Served},
		"of one that is watched":            {Early, (*Record).EndEmptying, Early},
		"every zone goes down meanwhile":    {Emptying, func(r *Record) { r.BecomeUnserved() }, Failed},
		"every zone goes down later":        {Served, func(r *Record) { r.BecomeUnserved() }, Failed},
		"the clocks restart, then it waits": {Emptying, restartAndSettle, Failed},
		"they restart after it was emptied": {Served, restartAndSettle, Served},
	} {
		k := emptied()
		if row.before != Calm {
			k.judge(v1.ConditionFalse, false)
		} else {
			k.judge(v1.ConditionTrue, false)
		}
		switch row.before {
		case Emptying:
			k.BecomeEmptying()
		case Served:
			k.BecomeServed()
		case Early:
			k.BecomeEarly()
		}
		require.Equal(t, row.before, k.Stage(), name)
		row.do(&k.Record)
		require.Equal(t, row.after, k.Stage(), name)
		require.NoError(t, k.Check(), name)
	}
}

func restartAndSettle(r *Record) {
	r.BecomeEarly()
	r.Consider(r.Facts(World{Now: at(60)}), r.Verdict(), true, true)
}

func TestTaintedSince(t *testing.T) {
	given := func(seconds int, taint v1.Taint) v1.Taint {
		if seconds > 0 {
			taint.TimeAdded = &metav1.Time{Time: at(seconds)}
		}
		return taint
	}
	notReady, unreachable := own(v1.TaintNodeNotReady), own(v1.TaintNodeUnreachable)
	foreign := v1.Taint{Key: "gpu", Effect: v1.TaintEffectNoExecute}
	for name, row := range map[string]struct {
		taints []v1.Taint
		want   time.Time
	}{
		"none":                       {nil, time.Time{}},
		"without a time":             {[]v1.Taint{given(0, notReady)}, time.Time{}},
		"with one":                   {[]v1.Taint{given(7, notReady)}, at(7)},
		"one without, one with":      {[]v1.Taint{given(0, notReady), given(7, unreachable)}, at(7)},
		"one with, one without":      {[]v1.Taint{given(7, notReady), given(0, unreachable)}, at(7)},
		"the first of two":           {[]v1.Taint{given(7, notReady), given(9, unreachable)}, at(7)},
		"the first of two, the last": {[]v1.Taint{given(9, notReady), given(7, unreachable)}, at(7)},
		"others' do not count":       {[]v1.Taint{given(3, foreign), given(7, notReady), given(2, foreign)}, at(7)},
		"others' alone":              {[]v1.Taint{given(3, foreign)}, time.Time{}},
	} {
		require.Equal(t, row.want, TaintedSince(&v1.Node{Spec: v1.NodeSpec{Taints: row.taints}}), name)
	}
}

// A node that has lost a pod to being emptied has been acted on, until it is Ready or must be emptied anew.
func TestBegun(t *testing.T) {
	for name, row := range map[string]struct {
		do   func(k *known)
		want bool
	}{
		"nothing has happened":            {func(*known) {}, false},
		"it was emptied":                  {func(k *known) { k.BecomeServed() }, true},
		"it lost a pod":                   {func(k *known) { k.PodLeft() }, true},
		"and waits for another turn":      {func(k *known) { k.BecomeEmptying(); k.PodLeft(); k.EndEmptying() }, true},
		"and the clocks restart":          {func(k *known) { k.PodLeft(); k.BecomeEarly() }, true},
		"and is Ready":                    {func(k *known) { k.PodLeft(); k.judge(v1.ConditionTrue, false) }, false},
		"and every zone is down":          {func(k *known) { k.PodLeft(); k.BecomeUnserved() }, false},
		"it is Ready when the pod leaves": {func(k *known) { k.judge(v1.ConditionTrue, false); k.PodLeft() }, false},
	} {
		k := emptied()
		k.judge(v1.ConditionFalse, false)
		row.do(k)
		require.Equal(t, row.want, k.Begun(), name)
		require.NoError(t, k.Check(), name)
	}
}
