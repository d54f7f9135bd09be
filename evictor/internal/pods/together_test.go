package pods

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// gang is a pod that is condemned on a drained node, and two that go with it from a healthy one.
type gang struct {
	*story
	healthy Node
	with    []Member
	c       *Eviction
}

func newGang(t *testing.T) *gang {
	g := &gang{story: tell(t), healthy: Node{Name: "h"}}
	g.pod("c", 900, 60)
	for _, name := range []string{"m1", "m2"} {
		object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		object.Spec.NodeName = "h"
		g.store[name] = object
		g.with = append(g.with, Member{RefOf(object), &g.healthy})
	}
	delete(g.store, "m1")
	delete(g.store, "m2")
	g.node(0, taint("drain", "", 0))
	for _, m := range g.with {
		object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: m.Ref.Name, UID: m.Ref.UID}}
		object.Spec.NodeName = "h"
		g.store[m.Ref.Name] = object
	}
	g.c = g.armed["c"]
	return g
}

func (g *gang) check(ev *Eviction, permits Permits) Try {
	permits.Ask, permits.Again, permits.Soon = 5*time.Second, time.Minute, time.Second
	return g.p.Check(ev, g.store[ev.Pod().Name], true, false, Ours{}, permits, at(60))
}

// tried returns who is to be tried now.
func (g *gang) tried() (names []string) {
	for _, a := range g.p.Todo() {
		if a.Do == Retry {
			names = append(names, a.Pod.Name)
		}
	}
	return names
}

func (g *gang) first() Try {
	try := g.check(g.c, Permits{With: g.with})
	first, some := try.First()
	require.Equal(g.t, []any{Proceed, g.with[0].Ref, true}, []any{try.Outcome, first, some})
	return try
}

// another is a pod that is condemned, too.
func (g *gang) another(name string) *Eviction {
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	object.Spec.NodeName = "n"
	g.store[name] = object
	g.p.Shown(Key{Name: name}, object, &g.n, true, g.ours, at(60))
	return g.p.known[Key{Name: name}].eviction
}

// The first may stay: then it is as if nobody had asked.
func TestTheFirstStays(t *testing.T) {
	g := newGang(t)
	g.first()
	require.Equal(t, time.Second, g.check(g.another("d"), Permits{With: g.with}).Wait, "it is tried for one at a time")
	require.NotContains(t, g.node(60), "cancel c", "nothing calls it off while it is tried")
	require.True(t, g.c.Armed())
	g.p.End(g.with[0].Ref, false)
	g.p.FirstStays(g.c)
	require.Empty(t, g.tried())
	require.Equal(t, Dropped, g.check(g.c, Permits{With: g.with}).Outcome, "the taint is gone")
}

// Once the first is gone the others leave, and the condemned pod after them.
func TestTheFirstIsGone(t *testing.T) {
	for name, leave := range map[string]func(g *gang, m2 *Eviction){
		"it leaves": func(g *gang, m2 *Eviction) {
			require.Equal(t, MayWrite, g.check(m2, Permits{NoWrite: true}).Delay)
			try := g.check(m2, Permits{NoHarm: true, Waits: true, Turn: true, Unasked: true, Unsettled: time.Hour})
			require.Equal(t, []any{Proceed, true, g.c.Pod()}, []any{try.Outcome, try.Goes, try.GoesWith})
			require.False(t, m2.Emptying())
			g.p.End(m2.Pod(), true)
			g.p.Done(m2)
		},
		"it is gone": func(g *gang, m2 *Eviction) { g.p.Shown(m2.Pod().Key, nil, &g.healthy, true, Ours{}, at(60)) },
		"it is replaced": func(g *gang, m2 *Eviction) {
			g.store["m2"].UID = "other"
			require.Equal(t, Gone, g.check(m2, Permits{}).Outcome)
		},
		"it terminates": func(g *gang, m2 *Eviction) {
			g.store["m2"].DeletionTimestamp = new(metav1.Time)
			g.p.Shown(m2.Pod().Key, g.store["m2"], &g.healthy, true, Ours{}, at(60))
		},
		"it completes": func(g *gang, m2 *Eviction) {
			g.store["m2"].Status.Phase = v1.PodSucceeded
			require.Equal(t, Dropped, g.check(m2, Permits{}).Outcome)
		},
		"its node is gone": func(g *gang, _ *Eviction) { g.p.Remove(&g.healthy, false) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGang(t)
			g.first()
			g.p.End(g.with[0].Ref, true)
			g.p.FirstGone(g.c, at(60))
			require.Equal(t, []string{"m2"}, g.tried())
			m2 := g.p.known[g.with[1].Ref.Key].eviction
			require.Empty(t, g.node(60), "nothing calls it off")
			g.p.Anew(&g.healthy, Ours{}, at(60))
			g.p.EndRound(&g.healthy, Ours{})
			require.True(t, m2.Armed())
			try := g.check(g.c, Permits{With: g.with})
			require.Equal(t, []any{Wait, Together, time.Minute, false}, []any{try.Outcome, try.Delay, try.Wait, try.News})
			leave(g, m2)
			require.Equal(t, []string{"c"}, g.tried())
			try = g.check(g.c, Permits{NoHarm: true, Unasked: true})
			require.Equal(t, []any{Proceed, false}, []any{try.Outcome, try.Goes})
		})
	}
}

// Who leaves with one pod already goes with no other.
func TestOneGroupAtATime(t *testing.T) {
	g := newGang(t)
	g.first()
	g.p.End(g.with[0].Ref, true)
	g.p.FirstGone(g.c, at(60))
	try := g.check(g.another("d"), Permits{With: g.with[1:]})
	_, some := try.First()
	require.Equal(t, []any{Proceed, false}, []any{try.Outcome, some}, "it goes alone")
}
