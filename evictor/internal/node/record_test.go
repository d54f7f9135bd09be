package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// known is a record in its world.
type known struct {
	Record
	World
	object          *v1.Node
	settled, hidden bool
	waits, again    bool
}

// seen is a node that was looked at once and is to be tainted.
func seen() *known {
	k := &known{object: healthy(), World: World{TaintBased: true, Timeout: time.Minute, Unseen: 40 * time.Second, Now: at(0)}}
	k.look(true)
	return k
}

// emptied is one of which the pods are deleted instead.
func emptied() *known {
	k := seen()
	k.TaintBased = false
	return k
}

func (k *known) look(heartbeat bool) (changed, movedOn bool) {
	return k.Note(k.object, heartbeat, k.TaintBased)
}

func (k *known) says(ready v1.ConditionStatus) {
	k.object.Status.Conditions[0].Status = ready
	k.look(true)
}

func (k *known) shows(taints ...v1.Taint) {
	k.object.Spec.Taints = taints
	k.look(false)
}

func (k *known) judge(ready v1.ConditionStatus, expired bool) {
	k.Judge(k.verdictOf(ready, expired))
}

func (k *known) verdictOf(ready v1.ConditionStatus, expired bool) health.Verdict {
	return health.Verdict{Node: "a", Observed: k.object.Status.Conditions[0].Status, Ready: ready, Expired: expired, Since: at(0), LastBeat: at(-10), Grace: 40 * time.Second}
}

func (k *known) consider() {
	k.waits, k.again = k.Consider(k.World, k.Verdict(), k.settled, !k.hidden)
}

// moment is what happens, and then how the record stands, why no harm is done, and whether the node is to wait.
type moment struct {
	what  string
	do    func(k *known)
	state string
	why   string
	waits bool
	again bool
}

func live(t *testing.T, k *known, moments ...moment) {
	t.Helper()
	for _, m := range moments {
		m.do(k)
		require.NoError(t, k.Check(), m.what)
		k.waits, k.again = false, false
		if k.Stage() != New {
			k.consider()
		}
		require.NoError(t, k.Check(), m.what)
		require.Equal(t, m.state, k.String(), m.what)
		require.Equal(t, m.why, k.Facts(k.World).Why(), m.what)
		require.Equal(t, []bool{m.waits, m.again}, []bool{k.waits, k.again}, m.what)
	}
}

func own(key string) v1.Taint { return v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute} }

func TestLifeOfATaintedNode(t *testing.T) {
	live(t, seen(),
		moment{"it is seen", func(*known) {}, "new", "NotFailed", false, false},
		moment{"it is judged", func(k *known) { k.judge(v1.ConditionTrue, false) }, "calm", "NodeReady", false, false},
		moment{"it reports", func(k *known) { k.look(true) }, "calm", "NodeReady", false, false},
		moment{"it falls silent, and waits", func(k *known) { k.judge(v1.ConditionUnknown, true) }, "waiting, unwritten, to mark", "", true, false},
		moment{"its Unknown is written; the store does not show it", func(k *known) { k.Told() }, "waiting, unwritten, to mark", "", true, false},
		moment{"and does", func(k *known) { k.object.Status.Conditions[0].Status = v1.ConditionUnknown; k.look(false); k.Told() }, "waiting, to mark", "", true, false},
		moment{"its pods are marked", func(k *known) { k.Marks.Marked("p"); k.Marks.Due = false }, "waiting", "", true, false},
		moment{"it has its turn", func(k *known) { k.Turn = true }, "waiting", "", false, false},
		moment{"it is tainted, which the store does not show", func(k *known) {
			require.Equal(t, Done, k.EndTurn(k.World, true, true))
			k.Turn = false
		}, "waiting, unseen", "Tainted", false, false},
		moment{"nor by now", func(k *known) { k.look(false) }, "waiting, unseen", "Tainted", false, false},
		moment{"nor does it for long", func(k *known) { k.Now = at(40) }, "waiting, unseen", "", true, false},
		moment{"it does", func(k *known) { k.shows(own(v1.TaintNodeUnreachable)) }, "waiting", "Tainted", false, false},
		moment{"somebody takes the taint away", func(k *known) { k.shows() }, "waiting", "", true, false},
		moment{"it is tainted again", func(k *known) { k.shows(own(v1.TaintNodeUnreachable)) }, "waiting", "Tainted", false, false},
		moment{"it says not Ready", func(k *known) { k.says(v1.ConditionFalse) }, "waiting, heard", "Tainted", false, false},
		moment{"which is the verdict; whom we marked is forgotten", func(k *known) { k.judge(v1.ConditionFalse, false); require.Nil(t, k.Marks.Done) }, "waiting", "Tainted", false, false},
		moment{"it says Ready", func(k *known) { k.says(v1.ConditionTrue) }, "waiting", "NodeReady", false, false},
		moment{"and is", func(k *known) { k.judge(v1.ConditionTrue, false) }, "calm", "NodeReady", false, false},
		moment{"it loses its condition: nothing is known", func(k *known) { k.judge("", false); k.shows() }, "waiting", "NotFailed", false, false},
	)
}

// The clocks start anew, twice, while a node waits.
func TestLifeOfAWatchedNode(t *testing.T) {
	live(t, seen(),
		moment{"nobody watches who has not failed", func(k *known) { require.False(t, k.BecomeWatched()) }, "new", "NotFailed", false, false},
		moment{"nor who is Ready", func(k *known) { k.judge(v1.ConditionTrue, false); require.False(t, k.BecomeWatched()) }, "calm", "NodeReady", false, false},
		moment{"it fails", func(k *known) { k.judge(v1.ConditionFalse, false); k.says(v1.ConditionFalse) }, "waiting", "", true, false},
		moment{"the clocks start anew", func(k *known) { require.True(t, k.BecomeWatched()) }, "watched after waiting", "NotSettled", false, true},
		moment{"and once more", func(k *known) { require.True(t, k.BecomeWatched()) }, "watched after waiting", "NotSettled", false, true},
		moment{"every zone is down: no grace ends", func(k *known) { k.AllDown, k.settled = true, true }, "watched after waiting", "AllZonesDown", false, false},
		moment{"a verdict does not end it", func(k *known) { k.judge(v1.ConditionFalse, false) }, "watched after waiting", "AllZonesDown", false, false},
		moment{"one is up", func(k *known) { k.AllDown = false }, "waiting", "", true, false},
		moment{"the store does not show it", func(k *known) { k.hidden = true }, "waiting", "", false, false},
		moment{"it is watched, and recovers", func(k *known) { k.BecomeWatched(); k.judge(v1.ConditionTrue, false) }, "calm", "NodeReady", false, false},
	)
}

func TestLifeOfANodeThatIsEmptied(t *testing.T) {
	refused := Leaving{Refused: 2, Until: at(90)}
	live(t, emptied(),
		moment{"it falls silent", func(k *known) { k.judge(v1.ConditionUnknown, true); k.says(v1.ConditionUnknown) }, "waiting, heard, to mark", "", false, true},
		moment{"not for long enough, its turn or not", func(k *known) { k.Now, k.Turn = at(49), true }, "waiting, heard, to mark", "", false, true},
		moment{"for long enough, in exact mode", func(k *known) { k.Now, k.Turn = at(50), false }, "waiting, heard, to mark", "", true, false},
		moment{"in passes that is not yet over", func(k *known) { k.Passes = true }, "waiting, heard, to mark", "", false, true},
		moment{"now it is, whatever the store shows", func(k *known) { k.Now, k.hidden = at(51), true }, "waiting, heard, to mark", "", true, false},
		moment{"it has its turn", func(k *known) { k.Turn = true }, "waiting, heard, to mark", "", false, false},
		moment{"some leave, one may not yet", func(k *known) {
			k.Leaves("gone", Leaving{Settled: true, Until: at(20)})
			k.Leaves("kept", refused)
			k.Leaves("later", Leaving{Until: at(99)})
			require.Equal(t, refused, k.Pod("kept"))
			require.False(t, k.Emptied())
		}, "waiting, some left, heard, to mark", "", false, false},
		moment{"that is all for now", func(k *known) {
			first, nobody := k.BecomeServed()
			require.Equal(t, []bool{true, false}, []bool{first, nobody})
			require.Equal(t, at(90), k.Until())
			require.Equal(t, Done, k.EndTurn(k.World, false, true))
			k.Turn = false
		}, "served, some left, heard, to mark", "", false, false},
		moment{"the clocks start anew", func(k *known) { require.True(t, k.BecomeWatched()); require.True(t, k.Emptied()) }, "watched after served, some left, heard, to mark", "NotSettled", false, true},
		moment{"a grace later", func(k *known) { k.settled = true }, "served, some left, heard, to mark", "", false, false},
		moment{"the first that was refused leaves", func(k *known) {
			k.Leaves("kept", Leaving{Settled: true, Until: at(90)})
			first, nobody := k.BecomeServed()
			require.Equal(t, []bool{false, false}, []bool{first, nobody})
			require.Equal(t, at(99), k.Until())
		}, "served, some left, heard, to mark", "", false, false},
		moment{"every zone goes down: it is to be emptied again", func(k *known) { require.True(t, k.BecomeUnserved()); require.Zero(t, k.Until()) }, "waiting, some left, heard, to mark", "", true, false},
		moment{"nobody is left", func(k *known) {
			k.Leaves("later", Leaving{Settled: true})
			k.BecomeServed()
			require.Zero(t, k.Until())
		}, "served, some left, heard, to mark", "", false, false},
		moment{"every zone goes down while it is watched", func(k *known) {
			k.BecomeWatched()
			require.True(t, k.BecomeUnserved())
			k.settled = false
		}, "watched after waiting, some left, heard, to mark", "NotSettled", false, true},
		moment{"it recovers", func(k *known) { k.judge(v1.ConditionTrue, false); require.Zero(t, k.Pod("gone")) }, "calm", "NodeReady", false, false},
		moment{"an answer comes late", func(k *known) {
			k.Leaves("late", refused)
			k.Marks.Marked("late")
			require.False(t, k.BecomeUnserved())
		}, "calm", "NodeReady", false, false},
		moment{"it fails again, and has no pods", func(k *known) {
			k.judge(v1.ConditionFalse, false)
			k.says(v1.ConditionFalse)
			first, nobody := k.BecomeServed()
			require.Equal(t, []bool{true, true}, []bool{first, nobody})
		}, "served", "", false, true},
	)
}

// What is counted as failed: a node that carries our taint, shown or not, or was emptied.
func TestCarries(t *testing.T) {
	for name, row := range map[string]struct {
		do               func(k *known)
		carries, emptied bool
	}{
		"not yet":                        {func(*known) {}, false, false},
		"it carries the taint":           {func(k *known) { k.shows(own(v1.TaintNodeNotReady)) }, true, false},
		"it was written and not shown":   {func(k *known) { k.EndTurn(k.World, true, false) }, true, false},
		"for too long":                   {func(k *known) { k.EndTurn(k.World, true, false); k.Now = at(40) }, false, false},
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
		"emptied":                             {func(k *known) { k.TaintBased = false; k.BecomeServed() }, false, false, Done},
	} {
		k := seen()
		k.judge(v1.ConditionFalse, false)
		row.do(k)
		require.Equal(t, row.want, k.EndTurn(k.World, row.tainted, row.failed), name)
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
		changed, _ := r.Note(node, false, true)
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
	r.Note(node, false, false)
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
		"watched":                           {func(k *known) { k.BecomeWatched() }, at(70), at(70)},
		"watched, and may not be silent":    {func(k *known) { k.BecomeWatched() }, time.Time{}, at(30)},
		"a taint is not shown":              {func(k *known) { k.EndTurn(k.World, true, false) }, time.Time{}, at(45)},
		"it is to be emptied":               {func(k *known) { k.TaintBased, k.Passes = false, true }, time.Time{}, at(60).Add(1)},
		"silent, and to be emptied":         {func(k *known) { k.TaintBased = false; k.judge(v1.ConditionUnknown, true) }, time.Time{}, at(50)},
		"Ready, and not":                    {func(k *known) { k.TaintBased = false; k.judge(v1.ConditionTrue, false) }, time.Time{}, at(5)},
		"it has lost its condition":         {func(k *known) { k.TaintBased = false; k.judge("", false) }, time.Time{}, at(5)},
		"watched comes before what it left": {func(k *known) { k.TaintBased = false; k.BecomeServed(); k.BecomeWatched() }, at(70), at(70)},
	} {
		k := seen()
		k.judge(v1.ConditionFalse, false)
		k.Now = at(5)
		row.do(k)
		require.Equal(t, row.want, k.WaitsUntil(k.World, k.Verdict(), row.settles), name)
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
		"to be emptied": {func(k *known) {
			k.judge(v1.ConditionFalse, false)
			k.says(v1.ConditionFalse)
			k.TaintBased, k.Turn = false, true
		}, "+not-ready:NoSchedule empty"},
		"emptied, one comes": {func(k *known) {
			k.judge(v1.ConditionFalse, false)
			k.says(v1.ConditionFalse)
			k.TaintBased, k.PodsChanged = false, true
			k.Leaves("a", Leaving{Until: at(1)})
			k.BecomeServed()
		}, "+not-ready:NoSchedule empty"},
		"emptied, one is refused": {func(k *known) {
			k.judge(v1.ConditionFalse, false)
			k.says(v1.ConditionFalse)
			k.TaintBased = false
			k.Leaves("a", Leaving{Until: at(1)})
			k.BecomeServed()
		}, "+not-ready:NoSchedule"},
	} {
		k := seen()
		row.do(k)
		require.Equal(t, row.want, told(k.Plan(k.World, k.object, nil)), name)
	}
}

// The first who may leave says when the node is emptied again; an answer that comes when it is watched counts too.
func TestUntilIsTheFirst(t *testing.T) {
	k := emptied()
	k.judge(v1.ConditionFalse, false)
	k.BecomeWatched()
	for i := range 50 {
		k.Leaves(types.UID(rune('a'+i)), Leaving{Until: at(20 + (i+25)%50)})
	}
	require.Equal(t, at(69), k.Pod(types.UID(rune('a'+24))).Until)
	k.settled = true
	k.consider()
	k.BecomeServed()
	require.Equal(t, at(20), k.Until())
	require.NoError(t, k.Check())
}

// Check finds what the transitions never do.
func TestCheck(t *testing.T) {
	unknown := health.Verdict{Node: "a", Ready: v1.ConditionUnknown}
	pods := map[types.UID]Leaving{"a": {}}
	for name, row := range map[string]struct {
		wrong Record
		right Record
	}{
		"new":     {Record{verdict: unknown}, Record{}},
		"calm":    {Record{stage: Calm, verdict: unknown}, Record{stage: Calm, verdict: health.Verdict{Ready: v1.ConditionTrue}}},
		"Ready":   {Record{stage: Waiting, verdict: health.Verdict{Ready: v1.ConditionTrue}}, Record{stage: Waiting}},
		"watched": {Record{stage: Watched}, Record{stage: Watched, after: Waiting}},
		"after":   {Record{stage: Waiting, after: Served}, Record{stage: Watched, after: Served}},
		"after 2": {Record{stage: Waiting, after: Calm}, Record{stage: Waiting}},
		"to come": {Record{stage: Watched, after: Calm}, Record{stage: Served}},
		"write":   {Record{stage: Waiting, word: unwritten}, Record{stage: Waiting, word: unwritten, verdict: health.Verdict{Expired: true}}},
		"heard":   {Record{word: heard}, Record{stage: Waiting, word: heard, verdict: unknown}},
		"due":     {Record{stage: Waiting, Marks: Marks{Due: true}}, Record{stage: Waiting, verdict: unknown, Marks: Marks{Due: true}}},
		"done":    {Record{stage: Waiting, Marks: Marks{Done: map[types.UID]struct{}{}}}, Record{stage: Waiting, verdict: unknown, Marks: Marks{Done: map[types.UID]struct{}{}}}},
		"pods":    {Record{pods: pods}, Record{stage: Watched, after: Waiting, pods: pods}},
		"until":   {Record{stage: Waiting, until: at(0)}, Record{stage: Watched, after: Served, until: at(0)}},
		"both":    {Record{stage: Waiting, pods: pods, Tainted: true}, Record{stage: Waiting, pods: pods}},
		"both 2":  {Record{stage: Waiting, pods: pods, unseen: at(0)}, Record{stage: Waiting, unseen: at(0), Tainted: true}},
	} {
		require.Error(t, row.wrong.Check(), name)
		require.NoError(t, row.right.Check(), name)
	}
}
