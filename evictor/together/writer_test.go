package together

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

// group is the condemned pod a with b and c, each on its node, which is a domain of its own.
type group struct {
	*stores
	w       *Writer
	a, b, c cluster.PodRef
	acts    []gate.Do // what the Gate was asked about the condemned pod's node, or about harm in its domain
	refuse  func(act gate.Act) error
	evict   func(pod cluster.PodRef) error
	evicted []string
	told    []tainteviction.Decision
}

func newGroup() *group {
	g := &group{stores: &stores{pods: make(map[cluster.PodKey]*v1.Pod)}}
	g.a, g.b, g.c = g.add("a"), g.add("b"), g.add("c")
	g.refuse, g.evict = func(gate.Act) error { return nil }, func(cluster.PodRef) error { return nil }
	g.w = &Writer{
		Nodes: g, Pods: g, Group: func(*v1.Pod) []cluster.PodKey {
			return []cluster.PodKey{g.c.PodKey, g.b.PodKey, g.c.PodKey, g.a.PodKey}
		},
		Domain: func(node *v1.Node) zone.Key { return zone.Key{Zone: node.Name} },
		Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Node == g.a.Node || act.Domain.Zone == g.a.Node {
				g.acts = append(g.acts, act.Do)
			}
			return g.refuse(act)
		}),
		Observer: func(d tainteviction.Decision) { g.told = append(g.told, d) },
	}
	g.w.PodWriter = &writer{evict: func(pod cluster.PodRef) error {
		if err := g.evict(pod); err != nil {
			return err
		}
		g.evicted = append(g.evicted, pod.Name)
		return nil
	}}
	return g
}

// The condemned pod is asked about by the evictor; here only before it leaves after others.
func TestWhoIsAsked(t *testing.T) {
	g := newGroup()
	checked := map[string]int{}
	g.w.Check = func(_ context.Context, pod cluster.PodRef) error {
		checked[pod.Name]++
		return apierrors.NewNotFound(v1.Resource("pods"), pod.Name) // it is gone: nothing forbids that
	}
	require.NoError(t, g.w.Evict(context.Background(), g.a, why))
	require.Equal(t, []string{"b", "c", "a"}, g.evicted)
	require.Equal(t, []gate.Do{gate.Harm}, g.acts)
	require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1}, checked)

	other := newGroup()
	other.pods[other.a.PodKey].UID = "other"
	require.NoError(t, other.w.Evict(context.Background(), other.a, why))
	require.Equal(t, []string{"a"}, other.evicted, "nobody leaves with a pod that is gone; its UID protects the one in its place")

	lone := newGroup()
	lone.w.Group = func(*v1.Pod) []cluster.PodKey { return nil }
	lone.w.Check = func(context.Context, cluster.PodRef) error { return errors.New("is not asked") }
	require.NoError(t, lone.w.Evict(context.Background(), lone.a, why))
	require.Equal(t, []string{"a"}, lone.evicted)
	require.Empty(t, lone.acts)
	require.Empty(t, lone.w.left)
}

// What a Gate says is passed on.
func TestARefusalIsPassedOn(t *testing.T) {
	at := time.Unix(2000, 0)
	for want, no := range map[string]error{
		"Night":   &gate.Refused{Reason: "Night", Again: at, Pace: true},
		"Refused": (*gate.Refused)(nil),
	} {
		for _, refused := range []gate.Do{gate.Harm, gate.Write, gate.Evict} {
			g := newGroup()
			g.refuse = func(act gate.Act) error {
				if act.Do == refused {
					return no
				}
				return nil
			}
			var is *gate.Refused
			require.ErrorAs(t, g.w.Evict(context.Background(), g.a, why), &is)
			require.Equal(t, []any{want, want == "Night", want == "Night"}, []any{is.Reason, is.Again.Equal(at), is.Pace})
			require.Empty(t, g.evicted)
		}
	}
}

// After each eviction everything is looked at once more.
func TestEachIsLookedAtOnceMore(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	for name, row := range map[string]struct {
		happens func(g *group)
		want    []string
	}{
		"a member is gone":              {func(g *group) { delete(g.pods, g.c.PodKey) }, []string{"b", "a"}},
		"a member is replaced":          {func(g *group) { g.pods[g.c.PodKey].UID = "other" }, []string{"b", "a"}},
		"a member terminates":           {func(g *group) { g.pods[g.c.PodKey].DeletionTimestamp = &metav1.Time{} }, []string{"b", "a"}},
		"a member fails":                {func(g *group) { g.pods[g.c.PodKey].Status.Phase = v1.PodFailed }, []string{"b", "a"}},
		"a member left with another":    {func(g *group) { g.w.note(g.c) }, []string{"b", "a"}},
		"the condemned pod is gone":     {func(g *group) { delete(g.pods, g.a.PodKey) }, []string{"b"}},
		"harm is refused in its domain": {func(g *group) { g.refuse = in(g.c) }, []string{"b"}},
		"harm is refused where a is":    {func(g *group) { g.refuse = in(g.a) }, []string{"b", "c"}},
		"the evictor ends":              {func(*group) { cancel() }, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup()
			g.evict = func(pod cluster.PodRef) error {
				if pod == g.b {
					row.happens(g)
				}
				return nil
			}
			err := g.w.Evict(ctx, g.a, why)
			require.Equal(t, row.want, g.evicted)
			require.Equal(t, slices.Contains(row.want, "a"), err == nil, err)
		})
		ctx, cancel = context.WithCancel(context.Background())
	}
	cancel()
}

func in(pod cluster.PodRef) func(act gate.Act) error {
	return func(act gate.Act) error {
		if act.Do == gate.Harm && act.Domain.Zone == pod.Node {
			return errors.New("no")
		}
		return nil
	}
}

// Who is no member before anybody is asked, and who that was created at the deadline replaces a member.
func TestWhoIsAskedAbout(t *testing.T) {
	for name, change := range map[string]func(pod *v1.Pod){
		"it terminates":              func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{} },
		"it has failed":              func(pod *v1.Pod) { pod.Status.Phase = v1.PodFailed },
		"it is a mirror pod":         func(pod *v1.Pod) { pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: ""} },
		"it came after the deadline": func(pod *v1.Pod) { pod.CreationTimestamp = metav1.NewTime(why.At.Add(time.Second)) },
		"it came with the deadline":  func(pod *v1.Pod) { pod.CreationTimestamp = metav1.NewTime(why.At) },
	} {
		t.Run(name, func(t *testing.T) {
			g, late := newGroup(), why
			late.At = why.At.Add(900 * time.Millisecond)
			g.pods[g.b.PodKey].CreationTimestamp = metav1.NewTime(why.At.Add(-time.Second))
			change(g.pods[g.c.PodKey])
			g.refuse = func(act gate.Act) error {
				if act.Node == g.c.Node {
					return errors.New("is not asked about it")
				}
				return nil
			}
			require.NoError(t, g.w.Evict(context.Background(), g.a, late))
			require.Equal(t, []string{"b", "a"}, g.evicted)
		})
	}
}

// A failed node that is emptied has no deadline: who was created after it became not Ready replaces a member.
func TestWithoutADeadline(t *testing.T) {
	g, emptied := newGroup(), why
	emptied.Taint = nil
	g.since = why.At.Add(-time.Minute)
	g.pods[g.b.PodKey].CreationTimestamp = metav1.NewTime(g.since.Add(-time.Second))
	g.pods[g.c.PodKey].CreationTimestamp = metav1.NewTime(g.since)
	require.NoError(t, g.w.Evict(context.Background(), g.a, emptied))
	require.Equal(t, []string{"b", "a"}, g.evicted)
	require.Len(t, g.told, 1)
	require.Nil(t, g.told[0].Taint)

	g = newGroup() // nobody knows since when: all members go
	require.NoError(t, g.w.Evict(context.Background(), g.a, emptied))
	require.Equal(t, []string{"b", "c", "a"}, g.evicted)
}

// An answer that means "not now" is no failure that is told of; "not found" is done.
func TestAnswersToTheEvictionOfAMember(t *testing.T) {
	for name, row := range map[string]struct {
		answer error
		told   []tainteviction.Kind
		left   []string
	}{
		"not now":   {apierrors.NewTooManyRequests("no", 0), nil, nil},
		"refused":   {&gate.Refused{Reason: "Blind"}, nil, nil},
		"an error":  {errors.New("broken"), []tainteviction.Kind{tainteviction.WriteFailed}, nil},
		"not found": {apierrors.NewNotFound(v1.Resource("pods"), "b"), []tainteviction.Kind{tainteviction.PodEvicted}, []string{"c", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup()
			g.evict = func(pod cluster.PodRef) error {
				if pod == g.b {
					return row.answer
				}
				return nil
			}
			err := g.w.Evict(context.Background(), g.a, why)
			require.Equal(t, row.left, g.evicted)
			require.Equal(t, row.left != nil, err == nil)
			var told []tainteviction.Kind
			for _, d := range g.told {
				told = append(told, d.Kind)
				require.NotSame(t, taint, d.Taint)
				require.Equal(t, -1, d.Toleration)
			}
			require.Equal(t, row.told, told)
		})
	}
}
