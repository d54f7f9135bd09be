package evictor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

type answerWriter struct {
	nodelifecycle.PodWriter
	nodelifecycle.NodeWriter
	mark   func(evictor.PodRef) error
	evict  func(evictor.PodRef) error
	taints func(*v1.Node) error
}

func (w answerWriter) MarkNotReady(ctx context.Context, ref evictor.PodRef) error {
	if w.mark != nil {
		return w.mark(ref)
	}
	return w.PodWriter.MarkNotReady(ctx, ref)
}

func (w answerWriter) Evict(ctx context.Context, ref evictor.PodRef, why taints.Deadline) error {
	if w.evict != nil {
		return w.evict(ref)
	}
	return w.PodWriter.Evict(ctx, ref, why)
}

func (w answerWriter) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error {
	if w.taints != nil {
		if err := w.taints(node); err != nil {
			return err
		}
	}
	return w.NodeWriter.UpdateTaints(ctx, node, change)
}

func answerStart(t *testing.T, c *evictortest.Cluster, w answerWriter, opts evictor.Options) *evictor.Evictor {
	clients := c.Clients()
	w.PodWriter, w.NodeWriter = clients.PodWriter, clients.NodeWriter
	clients.PodWriter, clients.NodeWriter = w, w
	opts.Clock = c.Clock()
	e, err := evictor.New(evictor.DefaultConfig(), clients, opts)
	require.NoError(t, err)
	c.Drive(e.Step)
	return e
}

// the kubelet reports Ready while its node's turn is being written. The turn ends as Spent ("the node waits for
// another"), the node is well, and no decision ever says that it no longer waits.
func TestSpentTurnOfANodeThatIsWell(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 1))
	conflict := true
	waits := map[string]bool{}
	answerStart(t, c, answerWriter{taints: func(n *v1.Node) error {
		if n.Name == "a-0" && conflict {
			conflict = false
			c.Recover("a-0") // its status report makes our write a conflict
			return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, n.Name, errors.New("the object has been modified"))
		}
		return nil
	}}, evictor.Options{Observer: evictor.Observe(func(d evictor.NodeDecision) {
		switch {
		case d.Kind == nodelifecycle.NodeQueued:
			waits[d.Node] = true
		case d.Kind == nodelifecycle.NodeDequeued, d.Kind == nodelifecycle.NodeRemoved, d.Kind == nodelifecycle.TurnEnded && d.Reason != "Spent":
			delete(waits, d.Node)
		}
		if d.Node == "a-0" && d.Kind != nodelifecycle.Passed {
			t.Log(d.Time.Format("15:04:05"), d.Kind, d.Reason, d.Err)
		}
	}, nil)})
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Empty(t, waits, "EXTENDING.md: a node waits from NodeQueued until NodeDequeued, NodeRemoved or a TurnEnded that is not Spent")
}

// the observer goes blind during the last question to the Gate; the pod is evicted nevertheless.
func TestBlindDuringTheLastQuestion(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.AddPod("p", "a-0")
	var e *evictor.Evictor
	afterEvict, blind, evicted := false, false, 0
	e = answerStart(t, c, answerWriter{evict: func(evictor.PodRef) error {
		if blind {
			evicted++
		}
		return nil
	}}, evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
		switch {
		case act.Do == gate.Evict:
			afterEvict = true
		case act.Do == gate.Harm && afterEvict: // the last of the five questions
			blind = true
			e.SetObserverHealth(errors.New("the watches are dead"))
		}
		return nil
	})})
	c.Taint("a-0", v1.Taint{Key: "example.com/x", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	require.True(t, blind)
	require.Zero(t, evicted, "while the observer cannot see, nothing is harmed; a last look follows the Gate's answer")
}

// What the program says of its watches and what a reader says of leases are two things: who sees again by one of them does not by
// the other.
func TestWatchesAndLeasesBlindEachAlone(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := start(c, config())
	e.SetObserverHealth(errors.New("the watch of pods is broken"))
	e.SetLeaseHealth(errors.New("down"))
	c.Taint("a-0", v1.Taint{Key: "example.com/x", Effect: v1.TaintEffectNoExecute})
	e.SetLeaseHealth(nil)
	c.Advance(time.Minute)
	require.Empty(t, c.Evicted())
	e.SetLeaseHealth(errors.New("down"))
	e.SetObserverHealth(nil)
	c.Advance(time.Minute)
	require.Empty(t, c.Evicted())
	e.SetLeaseHealth(nil)
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

// another pod takes the name while the pod is being marked; the writer's precondition answers Conflict. The mark is
// sent again for as long as the node is silent, though the store does not show the pod.
func TestMarkOfAPodThatIsGone(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	clients := c.Clients()
	first, marks := evictor.PodRef{}, 0
	answerStart(t, c, answerWriter{mark: func(ref evictor.PodRef) error {
		if first.UID == "" {
			first = ref
			c.DeletePod(ref.Name)
			c.DeleteNode("a-0") // so that it is gone at once
			c.AddPod(ref.Name, "a-1")
		}
		if ref.UID == first.UID {
			if marks++; marks > 1 {
				p, ok := clients.Pods.Pod(ref.PodKey)
				require.True(t, !ok || p.UID != ref.UID)
			}
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, ref.Name, errors.New("the UID in the precondition does not match"))
		}
		return nil
	}}, evictor.Options{})
	c.Fail("a-0")
	c.Advance(30 * time.Minute)
	t.Log(marks, "tries to mark", first)
	require.LessOrEqual(t, marks, 2)
}

// F3 with the node still there, and the name taken on it.
func TestMarkOfAPodThatIsAnother(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 1000000))
	clients := c.Clients()
	var first evictor.PodRef
	marks := 0
	pods := &answerPods{PodStore: clients.Pods}
	w := answerWriter{mark: func(ref evictor.PodRef) error {
		if first.UID == "" {
			first = ref
			pods.other = true // a pod of that name with another UID
		}
		if ref.UID == first.UID {
			marks++
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, ref.Name, errors.New("the UID in the precondition does not match"))
		}
		return nil
	}}
	w.PodWriter, w.NodeWriter = clients.PodWriter, clients.NodeWriter
	clients.PodWriter, clients.NodeWriter, clients.Pods = w, w, pods
	e, err := evictor.New(evictor.DefaultConfig(), clients, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	c.Drive(e.Step)
	c.Fail("a-0")
	c.Advance(30 * time.Minute)
	t.Log(marks, "tries to mark", first)
	require.LessOrEqual(t, marks, 2)
}

type answerPods struct {
	cluster.PodStore
	other bool
}

func (s *answerPods) as(p *v1.Pod) *v1.Pod {
	if s.other {
		p = p.DeepCopy()
		p.UID += "-other"
	}
	return p
}

func (s *answerPods) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	p, ok := s.PodStore.Pod(key)
	if ok {
		p = s.as(p)
	}
	return p, ok
}

func (s *answerPods) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	s.PodStore.PodsOnNode(node, func(p *v1.Pod) bool { return visit(s.as(p)) })
}

// While the Gate is asked about an eviction, the node moves to another zone: nobody was asked about that one.
func TestRelabelledDuringAQuestion(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 3))
	c.AddPod("p", "a-0")
	evicted := 0
	answerStart(t, c, answerWriter{evict: func(evictor.PodRef) error { evicted++; return nil }}, evictor.Options{
		Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			switch {
			case act.Do == gate.Evict && act.Domain.Zone == "a":
				c.Relabel("a-0", zone.Key{Zone: "b"})
			case act.Do == gate.Harm && act.Domain.Zone == "b":
				return errors.New("zone b is being repaired")
			}
			return nil
		}),
	})
	c.Taint("a-0", v1.Taint{Key: "example.com/x", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	require.Zero(t, evicted)
}

// An eviction that is cancelled while the Gate is asked is told so once, and what the API server has evicted is armed no more.
func TestCancelledDuringAQuestion(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.AddPod("p", "a-0")
	told := 0
	e := answerStart(t, c, answerWriter{}, evictor.Options{
		Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Do == gate.Evict && told == 0 {
				c.Tolerate("p", v1.Toleration{Operator: v1.TolerationOpExists})
			}
			return nil
		}),
		Observer: evictor.Observe(nil, func(d evictor.PodDecision) {
			if d.Kind == tainteviction.EvictionCancelled {
				told++
			}
		}),
	})
	c.Taint("a-0", v1.Taint{Key: "example.com/x", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	require.Equal(t, 1, told)
	require.Empty(t, e.Pods().Evictions())
	c.Tolerate("p")
	c.Advance(time.Minute)
	require.Equal(t, []string{"p"}, c.Evicted())
	require.Empty(t, e.Pods().Evictions())
}

// NoSchedule taints follow from the conditions that are written, also where a NoExecute taint is lifted meanwhile.
func TestALiftFollowsFromWrittenConditions(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	start(c, config())
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	refused := true
	c.FailWrites(func(write, _ string) error {
		if write == "conditions" && refused {
			return errors.New("unavailable")
		}
		return nil
	})
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{v1.TaintNodeNotReady + ":NoSchedule"}, c.Taints("a-0"), "every node is silent, and the API shows that it is not ready")
	refused = false
	c.Advance(time.Minute)
	require.Equal(t, []string{unreachable + ":NoSchedule"}, c.Taints("a-0"))
}
