package pods

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/taints"
)

// story is one node with its pods, as their owner sees and acts upon them. Times are seconds.
type story struct {
	t     *testing.T
	p     Pods
	n     Node
	ours  Ours
	store map[string]*v1.Pod
	armed map[string]*Eviction // as the owner has it
}

var byTaints, byEmptying = By{Taints: true}, By{Taints: true, Emptying: true}

func tell(t *testing.T) *story {
	return tellOf(t, byTaints, taints.OwnNoExecute)
}

func tellOf(t *testing.T, by By, own func(*v1.Taint) bool) *story {
	p := New(by, taints.Matcher{}, own)
	return &story{t: t, p: p, n: Node{Name: "n"}, ours: Ours{Evict: true}, store: map[string]*v1.Pod{}, armed: map[string]*Eviction{}}
}

// pod puts one into the store that tolerates our taints and "drain" for so long.
func (s *story) pod(name string, own, drain int64) *v1.Pod {
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	object.Spec.NodeName = s.n.Name
	object.Spec.Tolerations = []v1.Toleration{
		{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, TolerationSeconds: &own},
		{Key: "drain", Operator: v1.TolerationOpExists, TolerationSeconds: &drain},
	}
	s.store[name] = object
	return object
}

// node is what follows when the node shows these taints, or something is made of them anew.
func (s *story) node(now int, list ...v1.Taint) string {
	s.p.Observe(&s.n, node(list...), true, at(now))
	if needed, some := s.p.Anew(&s.n, s.ours, at(now)); needed {
		for _, name := range slices.Sorted(maps.Keys(s.store)) {
			if some {
				s.show(name, now)
			}
		}
		s.p.EndRound(&s.n, s.ours)
	}
	return s.follows()
}

// shown is what follows from what the store shows of a pod.
func (s *story) shown(now int, name string) string {
	s.show(name, now)
	return s.follows()
}

func (s *story) show(name string, now int) bool {
	return s.p.Shown(Key{Name: name}, s.store[name], &s.n, true, s.ours, at(now))
}

func (s *story) follows() string {
	var told []string
	for _, a := range s.p.Todo() {
		switch name := a.Pod.Name; a.Do {
		case Cancel:
			delete(s.armed, name)
			told = append(told, strings.TrimSpace("cancel "+name+" "+a.Reason))
		case Retry:
			told = append(told, "try "+name)
		case Spare:
			told = append(told, "spare "+name+" "+a.Reason)
		default:
			why, _ := a.Eviction.Why()
			s.armed[name] = a.Eviction
			told = append(told, fmt.Sprintf("%s %s at %v for %s", map[Do]string{Arm: "arm", Move: "move"}[a.Do], name, why.At.Sub(epoch).Seconds(), reason(why)))
		}
	}
	s.invariants()
	for _, ev := range s.n.Armed(0) {
		require.Same(s.t, s.armed[ev.Pod().Name], ev, "its owner was told of it")
	}
	return strings.Join(told, ", ")
}

// try is what becomes of an eviction that is tried.
func (s *story) try(now int, name string, permits Permits) string {
	permits.Ask, permits.Again, permits.Soon = 5*time.Second, time.Minute, time.Second
	try := s.p.Check(s.armed[name], s.store[name], true, false, s.ours, permits, at(now))
	s.invariants()
	switch try.Outcome {
	case Wait:
		return fmt.Sprintf("wait %v %s%s", try.Wait, try.Delay, map[bool]string{true: ", told"}[try.News])
	case Proceed:
		s.p.End(s.armed[name].Pod(), true)
		s.p.Done(s.armed[name])
		require.False(s.t, s.armed[name].Armed())
		return "evict for " + reason(try.Why)
	case Gone, Dropped:
		require.False(s.t, s.armed[name].Armed())
	}
	return strings.TrimSpace(map[Outcome]string{Gone: "gone", Dropped: "drop", Apart: "apart"}[try.Outcome] + " " + try.Reason)
}

// invariants hold at any time.
func (s *story) invariants() {
	here := 0
	for key, known := range s.p.known {
		if known.node == &s.n {
			here++
		}
		require.Same(s.t, known, known.node.pods[key])
		require.Equal(s.t, key, known.ref.Key)
		require.True(s.t, known.eviction == nil || known.eviction.pod == known && !known.eviction.why.Forever)
	}
	require.Len(s.t, s.n.pods, here)
}

// What fell due while nobody led, or no harm was permitted, or the policy had it wait, waits for its node's turn afterwards; what has not
// fallen due yet does not, nor what taints of others evict.
func TestWhatKeepsThePaceAfterwards(t *testing.T) {
	for _, closed := range []Permits{{NoWrite: true}, {NoHarm: true}, {Waits: true}, {Unsettled: time.Second}} {
		s := tell(t)
		s.pod("ours", 60, 900)
		s.pod("drained", 900, 60)
		s.pod("later", 100, 900)
		s.node(0, taint("drain", "", 0), taint(v1.TaintNodeUnreachable, "", 0))
		s.try(60, "ours", closed)
		s.try(60, "drained", closed)
		s.try(60, "later", closed)
		waits := "wait 1m0s Overdue"
		if closed.Unsettled > 0 {
			waits = "evict for node.kubernetes.io/unreachable"
		}
		require.Equal(t, waits, s.try(70, "ours", Permits{Turn: true}))
		require.Equal(t, "evict for node.kubernetes.io/unreachable", s.try(110, "later", Permits{Turn: true}))
		if closed.NoHarm || closed.NoWrite {
			require.Equal(t, "evict for drain", s.try(110, "drained", Permits{Turn: true}))
		}
	}
}

func TestStoryOfADeadlineWhileAPermissionIsClosed(t *testing.T) {
	s := tell(t)
	s.pod("ours", 60, 900)
	s.pod("drained", 900, 60)
	closed := Permits{NoHarm: true}
	unreachable, drain := taint(v1.TaintNodeUnreachable, "", 0), taint("drain", "", 0)

	require.Equal(t, "arm drained at 60 for drain, arm ours at 60 for node.kubernetes.io/unreachable", s.node(0, drain, unreachable))
	require.Empty(t, s.n.Armed(MayHarm), "nobody waits for a permission")

	require.Equal(t, "wait 5s MayHarm, told", s.try(60, "ours", closed))
	require.Equal(t, "wait 5s MayHarm", s.try(65, "ours", closed), "once is enough")
	require.Equal(t, "wait 5s MayHarm, told", s.try(65, "drained", closed), "taints of others are held back too")
	require.Equal(t, "wait 5s MayWrite, told", s.try(70, "drained", Permits{NoWrite: true}), "another reason is news")
	require.Empty(t, s.node(70, drain, unreachable), "it waits, and nothing has changed")
	require.Len(t, s.n.Armed(MayHarm), 2, "both are tried as soon as that is permitted")

	require.Equal(t, "wait 1m0s Overdue", s.try(80, "ours", Permits{Turn: true}), "what is ours waits for its node's turn then")
	require.Equal(t, "evict for drain", s.try(80, "drained", Permits{Turn: true}), "the others leave at once")
	require.Equal(t, "evict for node.kubernetes.io/unreachable", s.try(90, "ours", Permits{}), "the turn has come")
	require.Empty(t, s.shown(91, "ours"), "a store that lags shows it still: it is not armed again")
}

func TestStoryOfATaintThatGoesAndComesBackAnew(t *testing.T) {
	s := tell(t)
	s.pod("web", 60, 60)
	require.Equal(t, "arm web at 60 for drain", s.node(0, taint("drain", "", 0)))
	require.Equal(t, "cancel web TaintRemoved", s.node(30))
	require.Empty(t, s.p.known, "pods of a node without taints are nobody's business")
	require.Equal(t, "arm web at 100 for drain", s.node(40, taint("drain", "", 0)), "it counts from when it was seen to come")
	first := s.armed["web"]

	require.Equal(t, "move web at 150 for drain", s.node(95, taint("drain", "", 90)), "gone and back while nobody looked: its TimeAdded tells")
	require.Same(t, first, s.armed["web"])
	require.Equal(t, "wait 50s NotDue", s.try(100, "web", Permits{}), "whoever tries it at the old deadline finds that out too")

	require.Equal(t, "cancel web TaintRemoved", s.node(120))
	require.Equal(t, "arm web at 190 for drain", s.node(130, taint("drain", "", 130)))
	require.NotSame(t, first, s.armed["web"])
	require.False(t, first.Armed())
	s.p.Done(first)
	require.True(t, s.armed["web"].Armed(), "a try of the old one that ends late does not end the new one")
	s.armed["web"], first = first, s.armed["web"]
	require.Equal(t, "gone", s.try(150, "web", Permits{}), "nor does it evict")
	s.armed["web"] = first
	require.Equal(t, "evict for drain", s.try(190, "web", Permits{}))
}

// What our own taints do while their node is not failed, and why an eviction is cancelled.
func TestReasons(t *testing.T) {
	unreachable := taint(v1.TaintNodeUnreachable, "", 0)
	for name, row := range map[string]struct {
		ours   Ours
		taints []v1.Taint
		want   string
	}{
		"it is held":               {Ours{Why: "Held"}, []v1.Taint{unreachable}, "cancel web Held"},
		"the hold comes first":     {Ours{Why: "Held"}, nil, "cancel web Held"},
		"it is watched":            {Ours{Why: "NotSettled", Settling: true}, []v1.Taint{unreachable}, "cancel web NotSettled"},
		"but its taint is gone":    {Ours{Why: "NotSettled", Settling: true}, nil, "cancel web TaintRemoved"},
		"the taint alone is gone":  {Ours{Evict: true}, nil, "cancel web TaintRemoved"},
		"another takes over":       {Ours{Why: "Held"}, []v1.Taint{unreachable, taint("drain", "", 0)}, "move web at 100 for drain"},
		"a swap of ours, in short": {Ours{Evict: true}, []v1.Taint{taint(v1.TaintNodeNotReady, "", 0)}, "move web at 0 for node.kubernetes.io/not-ready"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			s.pod("web", 60, 90)
			require.Equal(t, "arm web at 60 for node.kubernetes.io/unreachable", s.node(0, unreachable))
			s.ours = row.ours
			require.Equal(t, row.want, s.node(10, row.taints...))
		})
	}
}

// What the store shows of a pod on a tainted node whose eviction is armed, and what follows before it is tried, and if it is tried first.
func TestWhatTheStoreShows(t *testing.T) {
	gone := metav1.NewTime(at(1))
	for name, row := range map[string]struct {
		change      func(s *story, object *v1.Pod)
		want, tried string
	}{
		"the same":         {func(*story, *v1.Pod) {}, "", "evict for drain"},
		"nothing":          {func(s *story, _ *v1.Pod) { delete(s.store, "web") }, "cancel web", "gone"},
		"it terminates":    {func(_ *story, o *v1.Pod) { o.DeletionTimestamp = &gone }, "cancel web", "gone"},
		"another pod":      {func(_ *story, o *v1.Pod) { o.UID = "2" }, "cancel web, arm web at 70 for drain", "gone"},
		"elsewhere":        {func(_ *story, o *v1.Pod) { o.Spec.NodeName = "m" }, "cancel web, arm web at 70 for drain", "gone"},
		"it has completed": {func(_ *story, o *v1.Pod) { o.Status.Phase = v1.PodSucceeded }, "cancel web Completed", "drop Completed"},
		"a mirror pod":     {func(_ *story, o *v1.Pod) { o.Annotations = map[string]string{v1.MirrorPodAnnotationKey: ""} }, "cancel web MirrorPod", "drop MirrorPod"},
		"tolerations of any length": {func(_ *story, o *v1.Pod) { o.Spec.Tolerations[1].TolerationSeconds = nil },
			"cancel web Tolerated", "drop Tolerated"},
		"of another length": {func(_ *story, o *v1.Pod) { *o.Spec.Tolerations[1].TolerationSeconds = 99 }, "move web at 99 for drain", "wait 39s NotDue"},
		"an older version":  {func(_ *story, o *v1.Pod) { o.ResourceVersion, o.UID = "3", "2" }, "", "wait 5s NotShown"},
		"older, completed":  {func(_ *story, o *v1.Pod) { o.ResourceVersion, o.Status.Phase = "3", v1.PodFailed }, "", "wait 5s NotShown"},
		"evicted by others": {func(s *story, o *v1.Pod) { s.p.Begin(RefOf(o)); s.p.End(RefOf(o), true) }, "", "gone"},
		"no version":        {func(_ *story, o *v1.Pod) { o.ResourceVersion = "x" }, "", "evict for drain"},
	} {
		t.Run(name, func(t *testing.T) {
			begin := func() *story {
				s := tell(t)
				s.pod("web", 900, 60).ResourceVersion = "5"
				require.Equal(t, "arm web at 60 for drain", s.node(0, taint("drain", "", 0)))
				first, ok := s.p.First()
				require.True(t, ok && first.Equal(at(60)))
				row.change(s, s.store["web"])
				return s
			}
			require.Equal(t, row.tried, begin().try(60, "web", Permits{}))
			s := begin()
			require.Equal(t, row.want, s.shown(10, "web"))
		})
	}
}

func TestTheNextLookLetsItGo(t *testing.T) {
	for name, permits := range map[string]Permits{"NotSettled": {Unsettled: time.Minute}, "NotShown": {}} {
		s := tell(t)
		s.pod("web", 60, 900)
		list := []v1.Taint{taint(v1.TaintNodeUnreachable, "", 0)}
		s.node(0, list...)
		if name == "NotShown" {
			try := s.p.Check(s.armed["web"], s.store["web"], false, false, s.ours, Permits{Ask: time.Second}, at(60))
			require.Equal(t, Try{Outcome: Wait, Answer: Answer{Wait: time.Second, Delay: NotShown}}, try)
			require.Equal(t, "try web", s.node(61, list...), "the node's next event looks at its pods again")
			continue
		}
		require.Equal(t, "wait 1m0s NotSettled, told", s.try(60, "web", permits))
		require.Equal(t, "try web", s.shown(61, "web"))
	}
}

func TestRefusedOnesWaitApart(t *testing.T) {
	s := tell(t)
	for _, name := range []string{"a", "b"} {
		s.pod(name, 60, 900)
	}
	s.node(0, taint(v1.TaintNodeUnreachable, "", 0))
	check := func(name string, apart bool, now int) Try {
		return s.p.Check(s.armed[name], s.store[name], true, apart, s.ours, Permits{Soon: time.Second}, at(now))
	}
	first := check("a", false, 60)
	require.Equal(t, Proceed, first.Outcome)
	require.Equal(t, time.Second, check("a", false, 60).Wait, "one at a time")
	s.p.End(s.armed["a"].Pod(), false)
	s.p.Refused(s.armed["a"], first.Group, at(80), false, at(60))
	require.Equal(t, Apart, check("b", false, 70).Outcome, "it is on the same node, and neither has a controller")
	require.Equal(t, Proceed, check("b", true, 70).Outcome, "where it belongs it has its turn")
	again := check("a", false, 80)
	require.Equal(t, []any{Proceed, 1, 0}, []any{again.Outcome, again.Refused, again.Conflicts})
	s.armed["a"].Conflicted()
	s.p.End(s.armed["a"].Pod(), false)
	require.Equal(t, 1, check("a", false, 80).Conflicts)
}

// What the API server has asked for holds for the pod, not for what is known of it; our own backoff begins anew with it.
func TestRefusedAndArmedAnew(t *testing.T) {
	for _, asked := range []bool{true, false} {
		s := tell(t)
		object := s.pod("a", 60, 900)
		s.pod("b", 60, 900)
		check := func(name string, apart bool, now int) Try {
			return s.p.Check(s.armed[name], s.store[name], true, apart, s.ours, Permits{Soon: time.Second}, at(now))
		}
		s.node(0, taint(v1.TaintNodeUnreachable, "", 0))
		first := check("a", false, 60)
		s.p.End(RefOf(object), false)
		s.p.Refused(s.armed["a"], first.Group, at(160), asked, at(60))
		s.node(61)
		s.node(62, taint(v1.TaintNodeUnreachable, "", 0))
		if !asked {
			require.Equal(t, Proceed, check("a", true, 130).Outcome)
			continue
		}
		try := check("a", false, 140)
		require.Equal(t, []any{Apart, 20 * time.Second}, []any{try.Outcome, try.Wait})
		try = check("a", true, 150)
		require.Equal(t, []any{Wait, 10 * time.Second}, []any{try.Outcome, try.Wait})
		require.True(t, s.armed["a"].aside, "its node waits for others alone")
		require.Equal(t, Proceed, check("b", true, 150).Outcome, "nothing was asked for it")
		require.Equal(t, Proceed, check("a", true, 160).Outcome)
	}
}

func TestWhatMayStayIsKnownAndNotArmed(t *testing.T) {
	s := tell(t)
	s.pod("done", 60, 60).Status.Phase = v1.PodSucceeded
	s.pod("stays", 60, 60).Spec.Tolerations[1].TolerationSeconds = nil
	s.pod("terminates", 60, 60).DeletionTimestamp = &metav1.Time{Time: at(0)}
	drain := taint("drain", "", 0)
	require.Equal(t, "cancel terminates", s.node(0, drain))
	require.Len(t, s.p.known, 3)
	require.Empty(t, s.n.Armed(0))

	zero := int64(0)
	s.store["stays"].Spec.Tolerations[1].TolerationSeconds = &zero
	require.Equal(t, "arm stays at 0 for drain", s.shown(10, "stays"), "known since the taint came")
	first := s.armed["stays"]
	s.store["stays"].Spec.Tolerations[1].TolerationSeconds = nil
	require.Equal(t, "cancel stays Tolerated", s.shown(10, "stays"))
	s.store["stays"].Spec.Tolerations[1].TolerationSeconds = &zero
	require.Equal(t, "arm stays at 0 for drain", s.shown(10, "stays"))
	s.p.Done(first)
	require.True(t, s.armed["stays"].Armed(), "one that was cancelled ends late")
	s.store["stays"].Spec.Tolerations = nil
	require.Equal(t, "move stays at 0 for drain", s.shown(10, "stays"), "what it leaves for is told")
	require.Empty(t, s.shown(11, "stays"))
}

// Of what is overdue, since when does not matter; of anything else it does.
func TestSameDeadline(t *testing.T) {
	for name, row := range map[string]struct {
		now   int
		added int
		want  string
	}{
		"both passed":           {100, 20, ""},
		"at this moment":        {80, 20, ""},
		"the later one has not": {79, 20, "move web at 80 for drain"},
		"neither has":           {50, 20, "move web at 80 for drain"},
	} {
		s := tell(t)
		s.pod("web", 900, 60)
		s.node(0, taint("drain", "", 0))
		require.Equal(t, row.want, s.node(row.now, taint("drain", "", row.added)), name)
	}
}

func TestWhyIsNewsThoughItIsOverdue(t *testing.T) {
	s := tell(t)
	object := s.pod("web", 900, 60)
	s.node(0, taint("drain", "", 0))
	*object.Spec.Tolerations[1].TolerationSeconds = 50
	require.Equal(t, "move web at 50 for drain", s.shown(100, "web"))
	object.Spec.Tolerations = nil
	require.Equal(t, "move web at 0 for drain", s.shown(100, "web"))
	require.Equal(t, "move web at 100 for other", s.node(100, taint("other", "", 100)))
}

// What is found out when one eviction is tried concerns the node's other pods too.
func TestATryThatFindsSomethingNew(t *testing.T) {
	s := tell(t)
	s.pod("web", 60, 90)
	list := []v1.Taint{taint(v1.TaintNodeUnreachable, "", 0), taint("drain", "", 0)}
	require.Equal(t, "arm web at 60 for node.kubernetes.io/unreachable", s.node(0, list...))
	check := func() Try { return s.p.Check(s.armed["web"], s.store["web"], true, false, s.ours, Permits{}, at(50)) }
	require.False(t, check().Round)
	s.ours = Ours{Why: "Held"}
	require.True(t, check().Round)
	s.ours = Ours{Evict: true}
	require.True(t, check().Round, "until it is done")
	require.Empty(t, s.node(50, list...), "nothing came of it")
	require.False(t, check().Round)

	s.p.Observe(&s.n, node(list[1]), true, at(51))
	require.True(t, check().Round, "a taint has gone")
}

func TestRemove(t *testing.T) {
	s := tell(t)
	s.pod("b", 60, 900)
	s.pod("a", 60, 900)
	s.node(0, taint(v1.TaintNodeUnreachable, "", 0))
	s.p.End(Ref{Key: Key{Name: "c"}, UID: "c", Node: "n"}, true)
	s.p.Remove(&s.n, false)
	require.Equal(t, "cancel a, cancel b", s.follows())
	require.Empty(t, s.p.known)
	require.Empty(t, s.p.evicted)
	_, ok := s.p.First()
	require.False(t, ok)
}

// Whom a node has evicted is known still when another takes its name, until the store shows the pod gone.
func TestRemoveOfANodeThatIsReplaced(t *testing.T) {
	s := tell(t)
	object := s.pod("web", 0, 0)
	s.p.End(RefOf(object), true)
	s.p.Remove(&s.n, true)
	s.n = Node{Name: "n"}
	require.Empty(t, s.node(0, taint("other", "", 0)), "it is not asked to go twice")
	s.p.Shown(Key{Name: "web"}, nil, &s.n, true, s.ours, at(1))
	require.Empty(t, s.p.evicted)
}

func TestObjects(t *testing.T) {
	yes := true
	object := &v1.Pod{}
	object.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}, {Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	require.False(t, Ready(object))
	object.Status.Conditions[0].Status = v1.ConditionTrue
	require.True(t, Ready(object))
	object.Status.Phase = v1.PodFailed
	require.False(t, Ready(object))
	object.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
	require.Equal(t, []string{"DaemonSet", "Completed"}, []string{SparedWithoutTaints(object), Spared(object)})
	object.OwnerReferences[0].Kind = "Job"
	require.Equal(t, "Completed", SparedWithoutTaints(object))

	require.Equal(t, at(9), boundAt(object, at(9)), "it does not tell")
	object.CreationTimestamp = metav1.NewTime(at(1))
	require.Equal(t, at(1), boundAt(object, at(9)))
	started := metav1.NewTime(at(3))
	object.Status.StartTime = &started
	require.Equal(t, at(3), boundAt(object, at(9)))
	object.Status.Conditions[1].LastTransitionTime = metav1.NewTime(at(2))
	require.Equal(t, at(2), boundAt(object, at(9)))
	require.Equal(t, at(1), boundAt(object, at(1)), "not in the future")
	object.Status.Conditions[1].Status = v1.ConditionFalse
	require.Equal(t, at(3), boundAt(object, at(9)))
}

// reason is what a pod has to leave for.
func reason(why taints.Deadline) string {
	if Emptying(why) {
		return "emptying"
	}
	return why.Taint.Key
}

// Where nothing is tainted a node is emptied on its turn, whatever its pods tolerate, but for those of a DaemonSet. It is done when each
// was tried; what could not be had has it wait for another turn, and what comes afterwards leaves at once.
func TestStoryOfANodeThatIsEmptied(t *testing.T) {
	s := tellOf(t, byEmptying, func(*v1.Taint) bool { return false })
	s.ours = Ours{}
	turn := func(now int, evict bool, list ...v1.Taint) string {
		s.ours.Evict = evict
		return s.node(now, list...)
	}
	everything, owner, drain := v1.Toleration{Operator: v1.TolerationOpExists}, true, taint("drain", "", none)
	for _, name := range []string{"daemon", "one", "two"} {
		s.pod(name, 600, 30)
	}
	s.store["daemon"].OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &owner}}
	s.store["two"].Spec.Tolerations = append(s.store["two"].Spec.Tolerations, everything)
	for _, step := range []struct {
		what string
		do   func() string
		want string
		far  Emptied
	}{
		{"it has failed", func() string { return turn(0, false) }, "", NotYet},
		{"it has its turn", func() string { return turn(10, true) }, "spare daemon DaemonSet, arm one at 10 for emptying, arm two at 10 for emptying", NotYet},
		{"that is told once", func() string { return s.shown(11, "daemon") }, "", NotYet},
		{"one leaves", func() string { return s.try(11, "one", Permits{}) }, "evict for emptying", NotYet},
		{"the other could not be had", func() string { s.armed["two"].Failed(); return "" }, "", Failed},
		{"the turn is over", func() string { return turn(12, false) }, "cancel daemon, cancel one, cancel two", NotYet},
		{"a taint of others", func() string { return turn(20, false, drain) }, "arm daemon at 50 for drain, arm two at 50 for drain", NotYet},
		{"another turn", func() string { return turn(30, true, drain) }, "move two at 30 for emptying", NotYet},
		{"nothing is permitted", func() string { return s.try(30, "two", Permits{NoHarm: true}) }, "wait 5s MayHarm, told", NotYet},
		{"the kubelet has just reported", func() string { return s.try(31, "two", Permits{Unsettled: time.Second}) }, "wait 1s NotSettled, told", NotYet},
		{"the zone policy has it wait", func() string { return s.try(32, "two", Permits{Waits: true}) }, "wait 18s ZonePolicy, told", NotYet},
		{"a budget refuses it", func() string { s.p.Refused(s.armed["two"], Group{name: "n"}, at(90), false, at(33)); return "" }, "", Done},
		{"a pod comes", func() string { s.pod("late", 600, 30); return s.shown(40, "late") }, "arm late at 40 for emptying", NotYet},
		{"conflicts", func() string {
			for range maxConflicts {
				s.armed["late"].Conflicted()
			}
			return ""
		}, "", NotYet},
		{"too many", func() string { s.armed["late"].Conflicted(); return "" }, "", Failed},
		{"the taint of others goes on", func() string { return s.try(50, "daemon", Permits{Unsettled: time.Second}) }, "evict for drain", Failed},
		{"and evicts who does not leave otherwise", func() string { return s.try(50, "two", Permits{Unsettled: time.Second}) }, "evict for drain", Failed},
		{"it recovers", func() string { return turn(60, false, drain) }, "move late at 70 for drain", NotYet},
		{"the taint goes", func() string { return turn(61, false) }, "cancel daemon, cancel late TaintRemoved, cancel one, cancel two", NotYet},
		{"it fails again", func() string {
			s.n.Recovered()
			clear(s.store)
			return turn(70, true)
		}, "", NoPods},
		{"a pod was there before", func() string { s.pod("web", 600, 30); return s.shown(71, "web") }, "arm web at 71 for emptying", NotYet},
		{"it finishes", func() string {
			s.store["web"].Status.Phase = v1.PodSucceeded
			return s.try(72, "web", Permits{})
		}, "drop Completed", Done},
	} {
		require.Equal(t, step.want, step.do(), step.what)
		require.Equal(t, step.far, s.n.Emptied(), step.what)
	}
}

// Where taints are somebody else's they evict nobody; where nothing is, nobody is known.
func TestHalves(t *testing.T) {
	drain := taint("drain", "", none)
	alone := tellOf(t, By{Emptying: true}, taints.OwnNoExecute)
	alone.pod("web", 600, 0)
	alone.ours.Evict = false
	require.Empty(t, alone.node(0, drain))
	alone.ours.Evict = true
	require.Equal(t, "arm web at 10 for emptying", alone.node(10, drain))
	require.Equal(t, "wait 5s MayHarm, told", alone.try(10, "web", Permits{NoHarm: true}))
	alone.ours.Evict = false
	require.Equal(t, "drop", alone.try(11, "web", Permits{}), "a try comes before the round")

	nothing := tellOf(t, By{}, taints.OwnNoExecute)
	nothing.pod("web", 600, 0)
	require.Empty(t, nothing.node(0, drain))
	require.Empty(t, nothing.shown(1, "web"))
	require.Empty(t, nothing.p.known)
}
