package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

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
	return k.Note(k.object, labelled(k.object), heartbeat, k.TaintBased, k.Now)
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
	k.waits, k.again = k.Consider(k.Facts(k.World), k.Verdict(), k.settled, !k.hidden)
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
		moment{"it falls silent, and waits", func(k *known) { k.judge(v1.ConditionUnknown, true) }, "failed, unwritten, to mark", "", true, false},
		moment{"its Unknown is written; the store does not show it", func(k *known) { k.Told() }, "failed, unwritten, to mark", "", true, false},
		moment{"and does", func(k *known) { k.object.Status.Conditions[0].Status = v1.ConditionUnknown; k.look(false); k.Told() }, "failed, to mark", "", true, false},
		moment{"its pods are marked", func(k *known) { k.Marks.Marked("p"); k.Marks.Due = false }, "failed", "", true, false},
		moment{"it has its turn", func(k *known) { k.Turn = true }, "failed", "", false, false},
		moment{"it is tainted, which the store does not show", func(k *known) {
			require.Equal(t, Done, k.EndTurn(k.Facts(k.World), true, true))
			k.Turn = false
		}, "failed, unseen", "Tainted", false, false},
		moment{"nor by now", func(k *known) { k.look(false) }, "failed, unseen", "Tainted", false, false},
		moment{"nor does it for long", func(k *known) { k.Now = at(40) }, "failed, unseen", "", true, false},
		moment{"it does", func(k *known) { k.shows(own(v1.TaintNodeUnreachable)) }, "failed", "Tainted", false, false},
		moment{"somebody takes the taint away", func(k *known) { k.shows() }, "failed", "", true, false},
		moment{"it is tainted again", func(k *known) { k.shows(own(v1.TaintNodeUnreachable)) }, "failed", "Tainted", false, false},
		moment{"it says not Ready", func(k *known) { k.says(v1.ConditionFalse) }, "failed, heard", "Tainted", false, false},
		moment{"which is the verdict; whom we marked is forgotten", func(k *known) { k.judge(v1.ConditionFalse, false); require.Nil(t, k.Marks.Done) }, "failed", "Tainted", false, false},
		moment{"it says Ready", func(k *known) { k.says(v1.ConditionTrue) }, "failed", "NodeReady", false, false},
		moment{"and is", func(k *known) { k.judge(v1.ConditionTrue, false) }, "calm", "NodeReady", false, false},
		moment{"it loses its condition: nothing is known", func(k *known) { k.judge("", false); k.shows() }, "failed", "NotFailed", false, false},
	)
}

// The clocks start anew, twice, while a node waits.
func TestLifeOfAnEarlyNode(t *testing.T) {
	live(t, seen(),
		moment{"nobody watches who has not failed", func(k *known) { require.False(t, k.BecomeEarly()) }, "new", "NotFailed", false, false},
		moment{"nor who is Ready", func(k *known) { k.judge(v1.ConditionTrue, false); require.False(t, k.BecomeEarly()) }, "calm", "NodeReady", false, false},
		moment{"it fails", func(k *known) { k.judge(v1.ConditionFalse, false); k.says(v1.ConditionFalse) }, "failed", "", true, false},
		moment{"the clocks start anew", func(k *known) { require.True(t, k.BecomeEarly()) }, "early after failed", "NotSettled", false, true},
		moment{"and once more", func(k *known) { require.True(t, k.BecomeEarly()) }, "early after failed", "NotSettled", false, true},
		moment{"every zone is down: no grace ends", func(k *known) { k.AllDown, k.settled = true, true }, "early after failed", "AllZonesDown", false, false},
		moment{"a verdict does not end it", func(k *known) { k.judge(v1.ConditionFalse, false) }, "early after failed", "AllZonesDown", false, false},
		moment{"one is up", func(k *known) { k.AllDown = false }, "failed", "", true, false},
		moment{"the store does not show it", func(k *known) { k.hidden = true }, "failed", "", false, false},
		moment{"it is watched, and recovers", func(k *known) { k.BecomeEarly(); k.judge(v1.ConditionTrue, false) }, "calm", "NodeReady", false, false},
	)
}

func TestLifeOfANodeThatIsEmptied(t *testing.T) {
	live(t, emptied(),
		moment{"it falls silent", func(k *known) { k.judge(v1.ConditionUnknown, true); k.says(v1.ConditionUnknown) }, "failed, heard, to mark", "", false, true},
		moment{"its Unknown comes back from the API: it has spoken since", func(k *known) { k.Told() }, "failed, heard, to mark", "", false, true},
		moment{"not for long enough, its turn or not", func(k *known) { k.Now, k.Turn = at(49), true }, "failed, heard, to mark", "", false, true},
		moment{"for long enough, in exact mode", func(k *known) { k.Now, k.Turn = at(50), false }, "failed, heard, to mark", "", true, false},
		moment{"in passes that is not yet over", func(k *known) { k.Passes = true }, "failed, heard, to mark", "", false, true},
		moment{"now it is, whatever the store shows", func(k *known) { k.Now, k.hidden = at(51), true }, "failed, heard, to mark", "", true, false},
		moment{"it has its turn", func(k *known) { k.Turn = true }, "failed, heard, to mark", "", false, false},
		moment{"it is emptied", func(k *known) {
			require.False(t, k.Emptied())
			require.True(t, k.BecomeServed())
			k.Turn = false
		}, "served, heard, to mark", "", false, false},
		moment{"and some that were refused leave", func(k *known) { require.False(t, k.BecomeServed()) }, "served, heard, to mark", "", false, false},
		moment{"the clocks start anew", func(k *known) { require.True(t, k.BecomeEarly()); require.True(t, k.Emptied()) }, "early after served, heard, to mark", "NotSettled", false, true},
		moment{"a grace later", func(k *known) { k.settled = true }, "served, heard, to mark", "", false, false},
		moment{"every zone goes down: it is to be emptied again", func(k *known) { require.True(t, k.BecomeUnserved()) }, "failed, heard, to mark", "", true, false},
		moment{"nobody is left", func(k *known) { require.True(t, k.BecomeServed()) }, "served, heard, to mark", "", false, false},
		moment{"every zone goes down while it is watched", func(k *known) {
			k.BecomeEarly()
			require.True(t, k.BecomeUnserved())
			k.settled = false
		}, "early after failed, heard, to mark", "NotSettled", false, true},
		moment{"it recovers", func(k *known) { k.judge(v1.ConditionTrue, false) }, "calm", "NodeReady", false, false},
		moment{"an answer comes late", func(k *known) {
			k.Marks.Marked("late")
			require.False(t, k.BecomeUnserved())
		}, "calm", "NodeReady", false, false},
		moment{"it fails again, and has no pods", func(k *known) {
			k.judge(v1.ConditionFalse, false)
			k.says(v1.ConditionFalse)
			require.True(t, k.BecomeServed())
		}, "served", "", false, true},
	)
}

// labelled is where a node belongs by its labels.
func labelled(object *v1.Node) Belongs {
	return Belongs{Zone: zone.KeyOf(object.Labels), Excluded: zone.Excluded(object.Labels)}
}

// No pod leaves between a report, or the loss of the Ready condition, and the next verdict.
func TestUnclear(t *testing.T) {
	for name, c := range map[string]struct {
		verdict v1.ConditionStatus // none if it is empty
		expired bool
		says    v1.ConditionStatus // afterwards; empty means that the condition is gone
		unclear bool
	}{
		"no verdict yet, and no condition": {"", false, "", false},
		"Ready, and nothing new":           {v1.ConditionTrue, false, v1.ConditionTrue, false},
		"Ready, and now not":               {v1.ConditionTrue, false, v1.ConditionFalse, false},
		"Ready, and now no condition":      {v1.ConditionTrue, false, "", true},
		"not Ready, and nothing new":       {v1.ConditionFalse, false, v1.ConditionFalse, false},
		"not Ready, and now Ready":         {v1.ConditionFalse, false, v1.ConditionTrue, true},
		"not Ready, and now no condition":  {v1.ConditionFalse, false, "", true},
		"silent, and now Ready":            {v1.ConditionUnknown, true, v1.ConditionTrue, true},
		"silent, and never a condition":    {v1.ConditionUnknown, true, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			k := seen()
			if c.verdict != "" {
				k.says(c.verdict)
				k.judge(c.verdict, c.expired)
			}
			if c.says == "" {
				k.object.Status.Conditions = k.object.Status.Conditions[1:]
				k.look(false)
			} else {
				k.says(c.says)
			}
			require.Equal(t, c.unclear, k.Facts(k.World).Unclear())
		})
	}
}

func TestUnwritten(t *testing.T) {
	k := seen()
	k.judge(v1.ConditionTrue, false)
	require.False(t, k.Unwritten(), "it reports")
	k.judge(v1.ConditionUnknown, true)
	require.True(t, k.Unwritten())
	k.Told()
	require.False(t, k.Unwritten())
}
