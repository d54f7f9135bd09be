package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// gang names the first pods of these nodes, which go together.
func gang(nodes ...string) func(*v1.Pod) []evictor.PodKey {
	return func(pod *v1.Pod) (keys []evictor.PodKey) {
		for _, node := range nodes {
			keys = append(keys, evictor.PodKey{Namespace: "default", Name: node + "-p0"})
		}
		if !slices.Contains(keys, evictor.PodKey{Namespace: pod.Namespace, Name: pod.Name}) {
			return nil
		}
		return keys
	}
}

// leaving is a cluster whose evictions are recorded with the instant at which they were made.
type leaving struct {
	*evictortest.Cluster
	e     *evictor.Evictor
	gone  []string // "at pod (with pod)"
	waits []string // why it is held back
}

func newLeaving(t *testing.T, cfg evictor.Config, options evictor.Options) *leaving {
	l := &leaving{Cluster: evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 3), evictortest.PodsPerNode(2))}
	options.Observer = evictor.ObserverFunc(func(d evictor.Decision) {
		switch {
		case d.Kind == evictor.PodEvicted:
			text := fmt.Sprintf("%s %s", d.Time.Sub(evictortest.Epoch), d.Pod.Name)
			if d.With.Name != "" {
				text += " with " + d.With.Name
			}
			l.gone = append(l.gone, text)
		case d.Kind == evictor.EvictionDelayed:
			l.waits = append(l.waits, d.Pod.Name+" "+d.Reason+": "+d.Err.Error())
		}
	})
	l.e = l.Start(cfg, options)
	l.Advance(time.Minute)
	return l
}

// of returns who is gone of the gang, without the times.
func (l *leaving) of() (gang []string) {
	for _, text := range l.gone {
		if _, who, _ := strings.Cut(text, " "); strings.Contains(who, "-p0") {
			gang = append(gang, who)
		}
	}
	return gang
}

// All leave at one instant, wherever they are, the condemned pod last. Neighbours stay or leave as ever, and members cost no
// turn.
func TestTheyLeaveTogether(t *testing.T) {
	harmed(t, func(t *testing.T, cfg evictor.Config, begin func(*evictortest.Cluster, string)) {
		l := newLeaving(t, cfg, evictor.Options{Together: gang("a-0", "a-1", "b-0")})
		begin(l.Cluster, "a-0")
		l.Advance(10 * time.Minute)
		require.Equal(t, []string{"a-1-p0 with a-0-p0", "b-0-p0 with a-0-p0", "a-0-p0"}, l.of())
		times := map[string]bool{}
		for _, text := range l.gone {
			at, _, _ := strings.Cut(text, " ")
			times[at] = true
		}
		require.Len(t, times, 1)
		require.Len(t, l.gone, 4, "and its neighbour on the failed node")
		require.Empty(t, l.waits)
		require.Empty(t, l.e.Evictions())
		require.Contains(t, strings.Join(toldOf(l.e, "default/b-0-p0", evictor.PodEvicted), ""), "evicted from node b-0: goes with pod default/a-0-p0: ")
	})
}

// The slice that the program returns stays as it is.
func TestTogetherKeepsItsSlice(t *testing.T) {
	members := gang("b-0", "a-1", "a-0")(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a-0-p0"}})
	want := slices.Clone(members)
	l := newLeaving(t, config(), evictor.Options{Together: func(*v1.Pod) []evictor.PodKey { return members }})
	l.Fail("a-0")
	l.Advance(10 * time.Minute)
	require.NotEmpty(t, l.of())
	require.Equal(t, want, members)
}

// One no holds all of them back, whoever says it, and is told once.
func TestOneNoHoldsAllBack(t *testing.T) {
	no := errors.New("no")
	var refuses bool
	for name, row := range map[string]struct {
		options evictor.Options
		refuse  func(l *leaving, refuses bool)
		want    string
	}{
		"MayEvict": {evictor.Options{MayEvict: func(_ context.Context, pod *v1.Pod, why evictor.Decision) error {
			if refuses && pod.Name == "b-0-p0" && why.With.Name == "a-0-p0" {
				return no
			}
			return nil
		}}, func(*leaving, bool) {}, "no"},
		"MayHarmIn": {evictor.Options{MayHarmIn: func(domain zone.Key) error {
			if refuses && domain.Zone == "b" {
				return no
			}
			return nil
		}}, func(*leaving, bool) {}, "zone :b: no"},
		"a hold": {evictor.Options{}, func(l *leaving, refuses bool) {
			if refuses {
				l.e.Hold("b-0", "repair")
			} else {
				l.e.Release("b-0")
			}
		}, "node b-0 is held: repair"},
		"a disruption budget": {evictor.Options{}, func(l *leaving, refuses bool) {
			l.FailWrites(nil)
			l.FailWrites(func(write, object string) error {
				if refuses && write == "checkEviction" && object == "default/b-0-p0" {
					return apierrors.NewTooManyRequests("no", 0)
				}
				return nil
			})
		}, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			harmed(t, func(t *testing.T, cfg evictor.Config, begin func(*evictortest.Cluster, string)) {
				row.options.Together = gang("a-0", "a-1", "b-0")
				l := newLeaving(t, cfg, row.options)
				refuses = true
				row.refuse(l, true)
				begin(l.Cluster, "a-0")
				l.Advance(20 * time.Minute)
				require.Empty(t, l.of())
				require.Len(t, l.gone, 1, "its neighbour does not wait")
				require.Equal(t, []string{"a-0-p0 Together: pod default/b-0-p0: " + row.want}, l.waits)
				node, _ := l.e.Node("a-0")
				require.Equal(t, 1, node.Refused)

				refuses = false
				row.refuse(l, false)
				l.e.Kick()
				l.Advance(0)
				require.Equal(t, []string{"a-1-p0 with a-0-p0", "b-0-p0 with a-0-p0", "a-0-p0"}, l.of())
			})
		})
	}
}

// Until the first has left, none leaves if that is not wanted any more. After that, all do: the API server's errors only
// delay them, and neither recovery nor a pause stops them.
func TestOnceTheFirstHasLeftAllLeave(t *testing.T) {
	harmed(t, func(t *testing.T, cfg evictor.Config, begin func(*evictortest.Cluster, string)) {
		for failing, left := range map[string][]string{
			"a-1": nil,
			"b-0": {"a-1-p0 with a-0-p0"},
			"a-0": {"a-1-p0 with a-0-p0", "b-0-p0 with a-0-p0"},
		} {
			l := newLeaving(t, cfg, evictor.Options{Together: gang("a-0", "a-1", "b-0")})
			l.FailWrites(func(write, object string) error {
				if write == "evict" && object == "default/"+failing+"-p0" {
					return apierrors.NewInternalError(errors.New("broken"))
				}
				return nil
			})
			begin(l.Cluster, "a-0")
			l.Advance(8 * time.Minute)
			require.Equal(t, left, l.of(), failing)
			l.e.Pause("incident")
			l.Recover("a-0")
			l.Untaint("a-0", "k", v1.TaintEffectNoExecute)
			l.Advance(2 * time.Minute)
			require.Equal(t, left, l.of(), failing)
			l.FailWrites(nil)
			l.Advance(2 * time.Minute)
			if left == nil {
				require.Empty(t, l.of())
			} else {
				require.Len(t, l.of(), 3, failing)
				require.Equal(t, "a-0-p0", l.of()[2], failing)
			}
			require.Empty(t, l.e.Evictions())
		}
	})
}

// A node that recovers before anybody has left keeps all of them.
func TestNobodyLeavesForNothing(t *testing.T) {
	cfg := config()
	refuses := true
	l := newLeaving(t, cfg, evictor.Options{Together: gang("a-0", "a-1"), MayEvict: func(_ context.Context, pod *v1.Pod, _ evictor.Decision) error {
		if refuses && pod.Name == "a-1-p0" {
			return errors.New("no")
		}
		return nil
	}})
	l.Fail("a-0")
	l.Advance(10 * time.Minute)
	l.Recover("a-0")
	l.Advance(time.Minute)
	refuses = false
	l.e.Kick()
	l.Advance(10 * time.Minute)
	require.Empty(t, l.of())
}

// Those that replace members do not go along, nor do pods that wait for a node, have completed or are about to go anyway.
func TestReplacementsDoNotGoAlong(t *testing.T) {
	l := newLeaving(t, config(), evictor.Options{Together: gang("a-0", "a-1", "a-2", "a-3", "a-9")})
	l.Phase("a-3-p0", v1.PodSucceeded)
	l.DeletePod("a-1-p0")
	l.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	l.e.Pause("later")
	l.Advance(time.Minute)
	l.AddPod("a-1-p0", "a-1")
	l.Advance(time.Minute)
	l.e.Resume("later")
	l.Advance(0)
	require.Equal(t, []string{"a-2-p0 with a-0-p0", "a-0-p0"}, l.of())
	l.Advance(10 * time.Minute)
	require.Len(t, l.of(), 2)
}

// The taint of the condemned pod is what a next process finds: it goes on with those that are left.
func TestTheNextProcessGoesOn(t *testing.T) {
	cfg := config()
	cfg.Half = evictor.TaintEviction
	l := newLeaving(t, cfg, evictor.Options{Together: gang("a-0", "a-1", "b-0")})
	l.FailWrites(func(write, object string) error {
		if write == "evict" && object == "default/b-0-p0" {
			return apierrors.NewInternalError(errors.New("broken"))
		}
		return nil
	})
	l.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	l.Advance(time.Minute)
	require.Equal(t, []string{"a-1-p0 with a-0-p0"}, l.of())
	l.AddPod("a-1-p0", "a-1")
	l.FailWrites(nil)
	l.Restart()
	l.Advance(time.Minute)
	require.Equal(t, []string{"a-1-p0 with a-0-p0", "b-0-p0 with a-0-p0", "a-0-p0"}, l.of())
}

// Two of a gang are condemned at once: each pod leaves once, with the first of them.
func TestTwoOfAGangAreCondemned(t *testing.T) {
	l := newLeaving(t, config(), evictor.Options{Together: gang("a-0", "a-1", "b-0")})
	for _, node := range []string{"a-0", "b-0"} {
		l.Taint(node, v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	}
	l.Advance(time.Minute)
	require.ElementsMatch(t, []string{"a-1-p0 with a-0-p0", "b-0-p0 with a-0-p0", "a-0-p0"}, l.of())
	require.Len(t, l.gone, 5)
}
