package pods

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/taints"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }

const none = -1 << 30 // of TimeAdded

func taint(key, value string, added int) v1.Taint {
	t := v1.Taint{Key: key, Value: value, Effect: v1.TaintEffectNoExecute}
	if added != none {
		stamp := metav1.NewTime(at(added))
		t.TimeAdded = &stamp
	}
	return t
}

func node(list ...v1.Taint) *v1.Node {
	n := &v1.Node{}
	n.CreationTimestamp = metav1.NewTime(at(-1000))
	n.Spec.Taints = list
	return n
}

// What is seen of a node's taints at some time, and since when they count then.
func TestSince(t *testing.T) {
	const unreachable, notReady = v1.TaintNodeUnreachable, v1.TaintNodeNotReady
	type look struct {
		at      int
		taints  []v1.Taint
		starts  []int
		changed bool
	}
	list := func(t ...v1.Taint) []v1.Taint { return t }
	for name, row := range map[string]struct {
		running bool
		looks   []look
	}{
		"a start finds TimeAdded": {false, []look{{50, list(taint("a", "", 10)), []int{10}, true}}},
		"a start, not plausible":  {false, []look{{50, list(taint("a", "", 60), taint("b", "", -2000), taint("c", "", none)), []int{50, 50, 50}, true}}},
		"one that is seen to come": {true, []look{
			{40, nil, nil, false}, {50, list(taint("a", "", 10)), []int{50}, true}, {60, list(taint("a", "", 10)), []int{50}, false}}},
		"one that is seen to go and come": {true, []look{
			{0, list(taint("a", "", 0)), []int{0}, true}, {10, nil, nil, true}, {20, list(taint("a", "", 0)), []int{20}, true}}},
		"another value is another taint": {true, []look{
			{0, list(taint("a", "x", none)), []int{0}, true}, {10, list(taint("a", "y", none)), []int{10}, true}}},
		"other effects do not count": {true, []look{{0, list(v1.Taint{Key: "a", Effect: v1.TaintEffectNoSchedule}), nil, false}}},
		"the order alone": {true, []look{
			{0, list(taint("a", "", 0), taint("b", "", 0)), []int{0, 0}, true}, {9, list(taint("b", "", 0), taint("a", "", 0)), []int{0, 0}, false}}},

		"it went and came while nobody looked": {true, []look{
			{0, list(taint("a", "", 0)), []int{0}, true}, {265, list(taint("a", "", 260)), []int{260}, true}, {270, list(taint("a", "", 260)), []int{260}, false}}},
		"so did ours": {true, []look{
			{0, list(taint(unreachable, "", 0)), []int{0}, true}, {265, list(taint(unreachable, "", 260)), []int{260}, true}}},
		"it came by a clock ahead of ours": {true, []look{
			{0, list(taint("a", "", 0)), []int{0}, true}, {265, list(taint("a", "", 267)), []int{265}, true}, {270, list(taint("a", "", 267)), []int{265}, false}}},
		"it never had a time": {true, []look{
			{0, list(taint("a", "", none)), []int{0}, true}, {265, list(taint("a", "", 260)), []int{260}, true}}},
		"its time is set afterwards": {true, []look{
			{5, list(taint("a", "", none)), []int{5}, true}, {265, list(taint("a", "", 3)), []int{5}, false}}},
		"an earlier time is no news": {true, []look{
			{20, list(taint("a", "", 10)), []int{20}, true}, {30, list(taint("a", "", 5)), []int{20}, false}, {40, list(taint("a", "", 10)), []int{20}, false}}},
		"a time that is lost is no news": {true, []look{
			{20, list(taint("a", "", 10)), []int{20}, true}, {30, list(taint("a", "", none)), []int{20}, false}, {40, list(taint("a", "", 10)), []int{20}, false}}},
		"a later time before it was seen sets no start back": {true, []look{
			{20, list(taint("a", "", 10)), []int{20}, true}, {30, list(taint("a", "", 15)), []int{20}, false}}},

		"a swap of ours with its time": {true, []look{
			{0, list(taint(notReady, "", 0)), []int{0}, true}, {60, list(taint(unreachable, "", 0)), []int{0}, true}, {61, list(taint(unreachable, "", 0)), []int{0}, false}}},
		"and without any": {true, []look{
			{0, list(taint(notReady, "", none)), []int{0}, true}, {60, list(taint(unreachable, "", none)), []int{0}, true}}},
		"a swap with a later time is another outage": {true, []look{
			{0, list(taint(notReady, "", 0)), []int{0}, true}, {265, list(taint(unreachable, "", 260)), []int{260}, true}}},
		"two writes, both there between them": {true, []look{
			{0, list(taint(notReady, "", 0)), []int{0}, true}, {60, list(taint(notReady, "", 0), taint(unreachable, "", 60)), []int{0, 60}, true},
			{61, list(taint(unreachable, "", 60)), []int{60}, true}, {99, list(taint(notReady, "", 60)), []int{60}, true}}},
		"of two, the swap goes on with the later one": {true, []look{
			{0, list(taint(notReady, "", 0), taint(unreachable, "", 0)), []int{0, 0}, true}, {50, list(taint(notReady, "", 50), taint(unreachable, "", 0)), []int{50, 0}, true},
			{60, list(taint(notReady, "x", 0)), []int{50}, true}}},
		"no swap between others": {true, []look{
			{0, list(taint("a", "", 0)), []int{0}, true}, {60, list(taint("b", "", 0)), []int{60}, true}, {70, list(taint(unreachable, "", 0)), []int{70}, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen Seen
			for i, look := range row.looks {
				var changed bool
				seen, changed = seen.Observe(node(look.taints...), row.running || i > 0, taints.OwnNoExecute, at(look.at), 0)
				require.Equal(t, look.changed, changed, "at %d", look.at)
				require.Len(t, seen, len(look.starts))
				for k, start := range look.starts {
					require.Equal(t, at(start), seen[k].Start, "%s at %d", seen[k].Taint.Key, look.at)
				}
			}
		})
	}
}

func TestNothingIsKeptOfTheNode(t *testing.T) {
	n := node(taint("a", "", 10))
	seen, _ := Seen{}.Observe(n, true, taints.OwnNoExecute, at(20), 0)
	*n.Spec.Taints[0].TimeAdded = metav1.NewTime(at(15))
	require.Equal(t, at(10), seen[0].Taint.TimeAdded.Time)
}

// What of the taints of others there is stays the same whether or not ours count.
func TestWhoseTaintsAreOurs(t *testing.T) {
	nobodys := func(*v1.Taint) bool { return false }
	seen, _ := Seen(nil).Observe(node(taint(v1.TaintNodeNotReady, "", 0)), true, nobodys, at(0), 0)
	next, changed := seen.Observe(node(taint(v1.TaintNodeUnreachable, "", 0)), true, nobodys, at(60), 0)
	require.True(t, changed)
	require.Equal(t, at(60), next[0].Start, "without taints of ours there are no swaps")
	require.True(t, next.Has(&seen[0].Taint, taints.OwnNoExecute))
	require.False(t, next.Has(&seen[0].Taint, nobodys))
}

func TestOutage(t *testing.T) {
	const notReady, unreachable = v1.TaintNodeNotReady, v1.TaintNodeUnreachable
	list := func(t ...v1.Taint) []v1.Taint { return t }
	for name, row := range map[string]struct {
		seen, have []v1.Taint
		want       int
	}{
		"nothing of ours":       {list(taint("a", "", 3)), list(taint("a", "", none)), none},
		"it has a time":         {list(taint(notReady, "", 3)), list(taint(notReady, "", 3)), none},
		"it never had one":      {list(taint("a", "", 3), taint(notReady, "", none)), list(taint("a", "", 3), taint(notReady, "", none)), 7},
		"it lost its time":      {list(taint(notReady, "", 3)), list(taint(notReady, "", none)), 7},
		"one of two has a time": {list(taint(notReady, "", none), taint(unreachable, "", 3)), list(taint(notReady, "", none), taint(unreachable, "", 3)), none},
	} {
		seen, _ := Seen(nil).Observe(node(row.seen...), true, taints.OwnNoExecute, at(7).Add(time.Millisecond), 0)
		got := seen.Outage(row.have, taints.OwnNoExecute, 0)
		if row.want == none {
			require.Nil(t, got, name)
			continue
		}
		require.Equal(t, at(row.want), got.Time, "%s: to the second, as the API has it", name)
	}
	seen := Seen{{Taint: taint(notReady, "", none), Start: at(9)}, {Taint: taint(unreachable, "", none), Start: at(5)}}
	require.Equal(t, at(5), seen.Outage(nil, taints.OwnNoExecute, 0).Time, "the earlier of two")
}

func TestCheck(t *testing.T) {
	second := time.Second
	tolerate := func(key string, seconds int64) v1.Toleration {
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, TolerationSeconds: &seconds}
	}
	own := taints.Begun{Taint: taint(v1.TaintNodeUnreachable, "", none), Start: at(0)}
	foreign := taints.Begun{Taint: taint("drain", "", none), Start: at(0)}
	both := Seen{own, foreign}
	in := func(ownSeconds, foreignSeconds int64) Pod {
		return Pod{Bound: at(0), Tolerations: []v1.Toleration{tolerate(v1.TaintNodeUnreachable, ownSeconds), tolerate("drain", foreignSeconds)}}
	}
	const now = 100
	closed := Permits{NoHarm: true, Ask: second}
	turn := Permits{Turn: true, Again: time.Minute}
	unsettled := Permits{Unsettled: 7 * second}
	type want struct {
		evict bool
		wait  time.Duration
		delay Delay
		own   bool
	}
	for name, row := range map[string]struct {
		seen    Seen
		pod     Pod
		armed   bool
		permits Permits
		want    want
	}{
		"ours":                         {both, in(100, 300), true, Permits{}, want{evict: true, own: true}},
		"that of others":               {both, in(300, 100), true, Permits{}, want{evict: true}},
		"not due":                      {both, in(300, 107), true, Permits{}, want{wait: 7 * second, delay: NotDue}},
		"not due, ours":                {both, in(107, 300), true, Permits{}, want{wait: 7 * second, delay: NotDue, own: true}},
		"ours does not count":          {both, in(50, 107), false, Permits{}, want{wait: 7 * second, delay: NotDue}},
		"writes are not permitted":     {both, in(50, 300), true, Permits{NoWrite: true, Ask: second}, want{wait: second, delay: MayWrite, own: true}},
		"nor for others":               {both, in(300, 50), true, Permits{NoWrite: true, Ask: second}, want{wait: second, delay: MayWrite}},
		"harm is not permitted":        {both, in(50, 300), true, closed, want{wait: second, delay: MayHarm, own: true}},
		"nor for the taints of others": {both, in(300, 50), true, closed, want{wait: second, delay: MayHarm}},
		"the node waits for its turn":  {both, in(50, 300), true, turn, want{wait: time.Minute, delay: Overdue, own: true}},
		"the node is watched":          {both, in(50, 300), true, unsettled, want{wait: 7 * second, delay: NotSettled, own: true}},

		"others never wait for a turn":             {both, in(300, 50), true, turn, want{evict: true}},
		"nor for a node to be watched":             {both, in(300, 50), true, unsettled, want{evict: true}},
		"nor beside ours, though later":            {both, in(50, 99), true, turn, want{evict: true}},
		"nor beside ours, watched":                 {both, in(50, 99), true, unsettled, want{evict: true}},
		"ours overdue no more than others":         {both, in(50, 99), true, closed, want{wait: second, delay: MayHarm}},
		"both not permitted at all":                {both, in(50, 99), true, Permits{Unsettled: second, Turn: true, NoWrite: true, Ask: 3 * second}, want{wait: 3 * second, delay: MayWrite}},
		"no longer than until others are due":      {both, in(50, 130), true, turn, want{wait: 30 * second, delay: Overdue, own: true}},
		"nor while it is watched":                  {both, in(50, 103), true, unsettled, want{wait: 3 * second, delay: NotSettled, own: true}},
		"the zone policy lets ours wait":           {both, in(50, 300), true, Permits{Waits: true, Again: time.Minute}, want{wait: time.Minute, delay: Policy, own: true}},
		"and no others":                            {both, in(50, 99), true, Permits{Waits: true, Again: time.Minute}, want{evict: true}},
		"the stricter answer is told":              {both, in(50, 300), true, Permits{NoHarm: true, Waits: true, Ask: second, Again: time.Minute}, want{wait: second, delay: MayHarm, own: true}},
		"a policy comes before a turn":             {both, in(50, 300), true, Permits{Waits: true, Turn: true, Again: time.Minute}, want{wait: time.Minute, delay: Policy, own: true}},
		"a turn comes only when harm is permitted": {both, in(50, 300), true, Permits{NoHarm: true, Turn: true, Ask: second, Again: time.Minute}, want{wait: second, delay: MayHarm, own: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := row.seen.Check(taints.Matcher{}, row.pod, taints.OwnNoExecute, row.armed, row.permits, at(now))
			require.Equal(t, row.want, want{got.Evict, got.Wait, got.Delay, got.Own})
			require.Equal(t, row.want.own, taints.OwnNoExecute(got.Why.Taint))
		})
	}
	for _, seen := range []Seen{nil, {own}} {
		got := seen.Check(taints.Matcher{}, in(50, 50), taints.OwnNoExecute, false, Permits{}, at(now))
		require.True(t, got.Why.Forever && !got.Evict && got.Delay == 0, "nothing evicts it")
	}
	require.Equal(t, "Overdue", Overdue.String())
}

func TestEvicted(t *testing.T) {
	e := New(byTaints, taints.Matcher{}, taints.OwnNoExecute)
	ref := func(name string, uid types.UID, node string) Ref {
		return Ref{Key: Key{Name: name}, UID: uid, Node: node}
	}
	evict := func(name string, uid types.UID, node string) {
		require.True(t, e.Begin(ref(name, uid, node)))
		require.False(t, e.Begin(ref(name, uid, node)), "one at a time")
		e.End(ref(name, uid, node), true)
	}
	has := func(name string, uid types.UID, terminating bool) bool {
		object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
		if terminating {
			object.DeletionTimestamp = &metav1.Time{}
		}
		return e.WasEvicted(object)
	}
	gone := func(name string) { e.Shown(Key{Name: name}, nil, nil, true, Ours{}, at(0)) }
	forget := func(node string) { e.Remove(&Node{Name: node}, false) }
	require.True(t, e.Begin(ref("p", "1", "n")))
	e.End(ref("p", "1", "n"), false)
	require.False(t, has("p", "1", false), "it failed")
	require.False(t, has("p", "1", false))
	gone("p")
	forget("n")
	evict("p", "1", "n")
	evict("q", "2", "n")
	evict("r", "3", "m")
	require.True(t, has("p", "1", false))
	require.False(t, has("p", "1", true), "the store shows it to go")
	require.False(t, has("p", "1", false), "and the next one in its place is not taken for it")
	require.False(t, has("q", "4", false), "another pod has its name")
	require.False(t, has("q", "2", false))
	require.True(t, has("r", "3", false))
	gone("r")
	require.False(t, has("r", "3", false))

	evict("p", "1", "n")
	evict("p", "5", "m")
	forget("n")
	require.True(t, has("p", "5", false), "it is on the other node")
	forget("m")
	require.Empty(t, e.evicted)
}

func TestRefusing(t *testing.T) {
	r := Refusing{until: map[Group]time.Time{}}
	a, b := Group{name: "a"}, Group{name: "b"}
	require.Zero(t, r.Left(a, at(0)))
	r.Add(a, at(10), at(0))
	r.Add(a, at(5), at(1))
	require.Equal(t, time.Second, r.Left(a, at(9)))
	require.Zero(t, r.Left(b, at(9)))
	require.Zero(t, r.Left(a, at(10)))
	for i := range 10 * sweepAt {
		r.Add(Group{name: fmt.Sprint(i)}, at(i+5), at(i))
	}
	require.LessOrEqual(t, len(r.until), sweepAt, "what is over is forgotten")
	for i := range 10 * sweepAt {
		r.Add(Group{name: fmt.Sprint(i)}, at(100*sweepAt+i), at(50*sweepAt))
	}
	require.Len(t, r.until, 10*sweepAt)
	require.GreaterOrEqual(t, r.kept, 4*sweepAt, "those that last are seldom looked at")

	yes := true
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
	pod.Spec.NodeName = "n"
	alone := GroupOf(pod)
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "cart", UID: "1", Controller: &yes}}
	require.NotEqual(t, alone, GroupOf(pod))
	sibling := pod.DeepCopy()
	sibling.Spec.NodeName = "m"
	require.Equal(t, GroupOf(pod), GroupOf(sibling))
}
