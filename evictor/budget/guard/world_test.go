package guard_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/taints"
)

// world is a cluster whose store lags behind it, and whose API server may do what it is asked and answer with an error.
type world struct {
	t       *testing.T
	clock   *testingclock.FakeClock
	nodes   map[string]*v1.Node // as they are
	pods    map[evictor.PodKey]*v1.Pod
	shown   map[string]*v1.Node // as the store shows them
	later   []showing
	lag     time.Duration
	lose    func(write, node string) error // the answer to a write that is done; nil if the write is answered
	fail    func(write, node string) error // the answer to a write that is not done
	failed  map[string]bool                // their kubelets stand still
	version int
	uids    int
	e       *evictor.Evictor
	after   gate.Gate                                 // asked after the guard
	wrote   func(node *v1.Node, change taints.Change) // told of each change of taints that was done
	left    func(node string)                         // told of each pod that was evicted
}

// showing is an object, nil for none, that the store shows from an instant on.
type showing struct {
	at   time.Time
	name string
	node *v1.Node
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{
		t: t, clock: testingclock.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{},
		shown: map[string]*v1.Node{}, failed: map[string]bool{}, wrote: func(*v1.Node, taints.Change) {}, left: func(string) {},
	}
}

// begin starts an evictor to which the store shows everything.
func (w *world) begin(cfg evictor.Config, b *nodeBudget, with guard.Options, options evictor.Options) {
	w.t.Helper()
	w.later, w.shown = nil, maps.Clone(w.nodes)
	g, err := guard.New(b, cfg.Nodes, with)
	require.NoError(w.t, err)
	options.Clock = w.clock
	options = g.On(options)
	options.Gate = gate.All(options.Gate, w.after)
	w.e, err = evictor.New(cfg, evictor.Clients{Nodes: w, Pods: w, NodeWriter: w, PodWriter: w}, options)
	require.NoError(w.t, err)
	for name := range w.nodes {
		w.e.NodeChanged(name)
	}
}

// step shows what is due, has the living kubelets renew their leases, and steps the evictor.
func (w *world) step(d time.Duration) {
	w.t.Helper()
	w.clock.Step(d)
	w.deliver()
	if w.clock.Now().Second()%10 == 0 {
		for _, name := range w.names() {
			if !w.failed[name] {
				w.e.LeaseObserved(name, w.clock.Now(), "")
			}
		}
	}
	for range 20 { // what is shown at once is read at once
		next, err := w.e.Step(context.Background())
		require.NoError(w.t, err)
		if w.deliver(); next.IsZero() || next.After(w.clock.Now()) {
			return
		}
	}
}

func (w *world) names() []string { return slices.Sorted(maps.Keys(w.nodes)) }

func (w *world) deliver() {
	for len(w.later) > 0 && !w.later[0].at.After(w.clock.Now()) {
		s := w.later[0]
		if w.later = w.later[1:]; s.node == nil {
			delete(w.shown, s.name)
		} else {
			w.shown[s.name] = s.node
		}
		w.e.NodeChanged(s.name)
	}
}

// put changes a node; nil deletes it.
func (w *world) put(name string, node *v1.Node) {
	if node == nil {
		delete(w.nodes, name)
	} else {
		w.version++
		node.ResourceVersion = fmt.Sprint(w.version)
		w.nodes[name] = node
	}
	if w.e == nil {
		return
	}
	at := w.clock.Now().Add(w.lag)
	if n := len(w.later); n > 0 && w.later[n-1].at.After(at) {
		at = w.later[n-1].at
	}
	w.later = append(w.later, showing{at, name, node})
}

func (w *world) change(name string, how func(*v1.Node)) {
	node := w.nodes[name].DeepCopy()
	how(node)
	w.put(name, node)
}

func (w *world) create(name, zone, rack string) {
	w.uids++
	w.put(name, &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprint(name, "-", w.uids)), CreationTimestamp: metav1.NewTime(w.clock.Now().Add(-time.Hour)),
			Labels: map[string]string{v1.LabelTopologyZone: zone, "rack": rack},
		},
		Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(w.clock.Now())}}},
	})
}

// recover has the kubelet renew and report again.
func (w *world) recover(name string) {
	delete(w.failed, name)
	w.change(name, func(node *v1.Node) {
		node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(w.clock.Now())}}
	})
	w.e.LeaseObserved(name, w.clock.Now(), "")
}

func (w *world) addPod(name, node string, tolerates int64) {
	w.uids++
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(fmt.Sprint(name, "-", w.uids)), CreationTimestamp: metav1.NewTime(w.clock.Now())},
		Spec: v1.PodSpec{NodeName: node, Tolerations: []v1.Toleration{
			evictTolerate(v1.TaintNodeUnreachable, tolerates), evictTolerate(v1.TaintNodeNotReady, tolerates),
		}},
	}
	w.pods[evictor.PodKey{Namespace: "default", Name: name}] = pod
	if w.e != nil {
		w.e.PodChanged(evictor.PodKey{Namespace: "default", Name: name})
	}
}

func evictTolerate(key string, seconds int64) v1.Toleration {
	return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}
}

func carries(node *v1.Node) bool {
	return node != nil && slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return taints.OwnNoExecute(&t) })
}

// tainted are the nodes that carry our taint.
func (w *world) tainted() (names []string) {
	for _, name := range w.names() {
		if carries(w.nodes[name]) {
			names = append(names, name)
		}
	}
	return names
}

// The stores.

func (w *world) Synced() bool                      { return true }
func (w *world) Node(name string) (*v1.Node, bool) { node, ok := w.shown[name]; return node, ok }
func (w *world) Nodes(visit func(*v1.Node) bool) {
	for _, name := range slices.Sorted(maps.Keys(w.shown)) {
		if !visit(w.shown[name]) {
			return
		}
	}
}
func (w *world) Pod(key evictor.PodKey) (*v1.Pod, bool) { pod, ok := w.pods[key]; return pod, ok }
func (w *world) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	for _, pod := range w.pods {
		if pod.Spec.NodeName == node && !visit(pod) {
			return
		}
	}
}

// The writers. Each write of a node has the UID and the version that was read as preconditions.

func (w *world) write(what string, node *v1.Node, how func(*v1.Node)) error {
	if w.fail != nil {
		if err := w.fail(what, node.Name); err != nil {
			return err
		}
	}
	is := w.nodes[node.Name]
	switch {
	case is == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, node.Name)
	case is.UID != node.UID || is.ResourceVersion != node.ResourceVersion:
		return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, node.Name, errors.New("the object has been modified"))
	}
	w.change(node.Name, how)
	if w.lose != nil {
		return w.lose(what, node.Name)
	}
	return nil
}

func (w *world) UpdateConditions(_ context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	return w.write("conditions", node, func(n *v1.Node) { n.Status.Conditions = conditions })
}

func (w *world) UpdateTaints(_ context.Context, node *v1.Node, change taints.Change) error {
	return w.write("taints", node, func(n *v1.Node) {
		w.wrote(w.nodes[n.Name], change)
		n.Spec.Taints = change.Apply(n.Spec.Taints, w.clock.Now())
	})
}

func (w *world) UpdateLabels(_ context.Context, node *v1.Node, labels map[string]string) error {
	return w.write("labels", node, func(n *v1.Node) { maps.Copy(n.Labels, labels) })
}

func (w *world) MarkNotReady(context.Context, evictor.PodRef) error { return nil }

func (w *world) Evict(_ context.Context, pod evictor.PodRef, _ taints.Deadline) error {
	if w.fail != nil {
		if err := w.fail("evict", pod.Node); err != nil {
			return err
		}
	}
	is, ok := w.pods[pod.PodKey]
	if !ok || is.UID != pod.UID {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod.Name)
	}
	delete(w.pods, pod.PodKey)
	w.left(pod.Node)
	w.e.PodChanged(pod.PodKey)
	if w.lose != nil {
		return w.lose("evict", pod.Node)
	}
	return nil
}
