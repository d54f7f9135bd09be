package pods

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/taints"
)

var unreachable, drained = taint(v1.TaintNodeUnreachable, "", 0), taint("drain", "", 0)

// TestWhatArmedItIsRemembered, with when that was decided, until a try finds a later deadline.
func TestWhatArmedItIsRemembered(t *testing.T) {
	s := tell(t)
	object := s.pod("web", 900, 60)
	s.node(7, drained)
	why, decided := s.armed["web"].Why()
	require.Equal(t, []time.Time{at(67), at(7)}, []time.Time{why.At, decided})
	*object.Spec.Tolerations[1].TolerationSeconds = 90
	s.shown(10, "web")
	_, decided = s.armed["web"].Why()
	require.Equal(t, at(10), decided)

	*object.Spec.Tolerations[1].TolerationSeconds = 100
	require.Equal(t, "wait 7s NotDue", s.try(100, "web", Permits{}))
	why, _ = s.armed["web"].Why()
	require.Equal(t, at(107), why.At)
	first, _ := s.p.First()
	require.Equal(t, at(107), first)
}

// TestAnOldTryDoesNotSetTheDeadline of the eviction that took its place.
func TestAnOldTryDoesNotSetTheDeadline(t *testing.T) {
	s := tell(t)
	object := s.pod("web", 900, 60)
	s.node(0, drained)
	old := s.armed["web"]
	object.Spec.Tolerations[1].TolerationSeconds = nil
	s.shown(1, "web")
	require.False(t, old.Armed())
	_, any := s.p.First()
	require.False(t, any)
	seconds := int64(50)
	object.Spec.Tolerations[1].TolerationSeconds = &seconds
	require.Equal(t, NotDue, s.p.Check(old, object, true, false, s.ours, Permits{}, at(2)).Delay)
	_, any = s.p.First()
	require.False(t, any, "nothing is armed")
}

// TestADelayIsToldAgain after the deadline has moved, and after a try that was permitted.
func TestADelayIsToldAgain(t *testing.T) {
	s := tell(t)
	object := s.pod("web", 900, 60)
	s.node(0, drained)
	closed := Permits{NoHarm: true}
	require.Equal(t, "wait 5s MayHarm, told", s.try(60, "web", closed))
	*object.Spec.Tolerations[1].TolerationSeconds = 70
	require.Equal(t, "move web at 70 for drain", s.shown(60, "web"))
	require.Equal(t, "wait 5s MayHarm, told", s.try(70, "web", closed))
	require.Equal(t, "wait 5s MayHarm", s.try(71, "web", closed))
	require.Equal(t, Proceed, s.p.Check(s.armed["web"], object, true, false, s.ours, Permits{}, at(72)).Outcome)
	s.p.End(RefOf(object), false)
	require.Equal(t, "wait 5s MayHarm, told", s.try(73, "web", closed))
}

// TestWhatIsNoLongerOverdueWaitsForNoTurn: its deadline has moved to a time that has not come.
func TestWhatIsNoLongerOverdueWaitsForNoTurn(t *testing.T) {
	for _, row := range []struct {
		seconds int64
		want    string
	}{{100, "evict for node.kubernetes.io/unreachable"}, {50, "wait 1m0s Overdue"}} {
		s := tell(t)
		object := s.pod("web", 60, 900)
		s.node(0, unreachable)
		s.try(60, "web", Permits{NoHarm: true})
		*object.Spec.Tolerations[0].TolerationSeconds = row.seconds
		require.Contains(t, s.shown(61, "web"), "move web")
		require.Equal(t, row.want, s.try(100, "web", Permits{Turn: true}))
	}
	s := tell(t) // what was never overdue does not become so when it is armed for what has passed
	object := s.pod("web", 60, 900)
	s.node(0, unreachable)
	*object.Spec.Tolerations[0].TolerationSeconds = 50
	s.shown(61, "web")
	require.Equal(t, "evict for node.kubernetes.io/unreachable", s.try(62, "web", Permits{Turn: true}))
}

// TestToTheLastNanosecond: what was asked for, of the pod or of those with which it belongs.
func TestToTheLastNanosecond(t *testing.T) {
	for _, asked := range []bool{true, false} {
		s := tell(t)
		s.pod("a", 60, 900)
		s.pod("b", 60, 900)
		s.node(0, unreachable)
		s.p.Refused(s.armed["a"], GroupOf(s.store["a"]), at(80), asked, at(60))
		who := map[bool]string{true: "a", false: "b"}[asked]
		require.False(t, s.armed["b"].aside)
		try := s.p.Check(s.armed[who], s.store[who], true, false, s.ours, Permits{}, at(80).Add(-1))
		require.Equal(t, Apart, try.Outcome)
		require.True(t, s.armed[who].aside)
	}
}

// TestVersionsAreDecimal: any other text is no version.
func TestVersionsAreDecimal(t *testing.T) {
	s := tell(t)
	s.pod("web", 900, 60).ResourceVersion = "a"
	s.node(0, drained)
	s.store["web"].ResourceVersion, s.store["web"].Status.Phase = "5", v1.PodSucceeded
	require.True(t, s.show("web", 1))
	require.Equal(t, "cancel web Completed", s.follows())
}

// TestAnOlderVersionIsNoNews, and no reason to forget the pod.
func TestAnOlderVersionIsNoNews(t *testing.T) {
	s := tell(t)
	s.pod("web", 60, 60).ResourceVersion = "5"
	s.node(0, drained)
	s.store["web"].ResourceVersion = "4"
	require.False(t, s.show("web", 1))
	require.Empty(t, s.node(2, drained, unreachable))
	require.True(t, s.armed["web"].Armed())
}

// TestAnEvictedPodThatGoesIsForgotten, also where nothing evicts any more.
func TestAnEvictedPodThatGoesIsForgotten(t *testing.T) {
	s := tell(t)
	object := s.pod("web", 60, 60)
	s.p.End(RefOf(object), true)
	require.True(t, s.p.WasEvicted(object))
	object.DeletionTimestamp = &metav1.Time{Time: at(1)}
	s.shown(2, "web")
	require.Empty(t, s.p.evicted)
}

// TestSinceWhenAPodIsBound: since it is seen or, at a start, since its object says, as our clock would have shown it.
func TestSinceWhenAPodIsBound(t *testing.T) {
	for watched, want := range map[bool]string{true: "arm web at 160 for drain", false: "arm web at 95 for drain"} {
		s := tell(t)
		s.pod("other", 60, 60)
		s.node(0, drained)
		object := s.pod("web", 900, 60)
		object.Status.StartTime = &metav1.Time{Time: at(30)}
		s.p.Ahead = 5 * time.Second
		require.True(t, s.p.Shown(Key{Name: "web"}, object, &s.n, watched, s.ours, at(100)))
		require.Equal(t, want, s.follows())
	}
}

// TestARoundThatDoesNotEnd, because a store panics, is begun again. One of an evictor that evicts nobody never begins.
func TestARoundThatDoesNotEnd(t *testing.T) {
	s := tell(t)
	s.p.Observe(&s.n, node(drained), true, at(0))
	for range 2 {
		needed, some := s.p.Anew(&s.n, s.ours, at(0))
		require.True(t, needed && some)
	}
	s.p.EndRound(&s.n, s.ours)
	needed, some := s.p.Anew(&s.n, s.ours, at(0))
	require.False(t, needed || some)
	for range 2 {
		needed, _ = s.p.Anew(&s.n, Ours{Why: "Held"}, at(1))
		require.True(t, needed)
	}
	s.p.EndRound(&s.n, Ours{})
	s.p.by = By{}
	needed, some = s.p.Anew(&s.n, Ours{}, at(0))
	require.False(t, needed || some)
}

// TestSinceWhenANodeIsEmptied: since its turn, whatever comes afterwards. The pods of a DaemonSet are spared, but not by taints of
// others.
func TestSinceWhenANodeIsEmptied(t *testing.T) {
	s := tellOf(t, byEmptying, func(*v1.Taint) bool { return false })
	owner := true
	s.pod("daemon", 600, 30).OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &owner}}
	s.pod("web", 600, 900)
	require.Equal(t, "spare daemon DaemonSet, arm daemon at 40 for drain, arm web at 10 for emptying", s.node(10, taint("drain", "", 10)))
	why, _ := s.armed["web"].Why()
	require.Equal(t, -1, why.Toleration)
	require.Equal(t, "move daemon at 20 for other", s.node(20, taint("drain", "", 10), taint("other", "", 20)), "web leaves since its turn began")
	require.Equal(t, at(10), s.n.since)
}

// TestSixConflictsAreTooMany for the turn of its node.
func TestSixConflictsAreTooMany(t *testing.T) {
	ev := &Eviction{pod: &pod{}}
	for range 5 {
		ev.Conflicted()
	}
	require.False(t, ev.failed)
	ev.Conflicted()
	require.True(t, ev.failed)
	require.Equal(t, byTaints, New(byTaints, taints.Matcher{}, taints.OwnNoExecute).by)
}
