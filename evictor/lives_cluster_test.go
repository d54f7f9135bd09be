package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/taints"
)

// livesObject is one version of a node or pod in the API server; nil objects are deletions.
type livesObject[T any] struct {
	version int64
	key     string
	object  *T
}

// livesTable is the API server's table of one kind, with all that it ever held, so that a stale cache can be shown.
type livesTable[T any] struct {
	now     map[string]*T
	history []livesObject[T]
}

func (t *livesTable[T]) put(version int64, key string, object *T) {
	if object == nil {
		delete(t.now, key)
	} else {
		t.now[key] = object
	}
	t.history = append(t.history, livesObject[T]{version, key, object})
}

// at is the table as it was at a version.
func (t *livesTable[T]) at(version int64) map[string]*T {
	held := map[string]*T{}
	for _, past := range t.history {
		if past.version > version {
			break
		}
		if past.object == nil {
			delete(held, past.key)
		} else {
			held[past.key] = past.object
		}
	}
	return held
}

// livesMachine is the kubelet behind a node's name.
type livesMachine struct {
	state  string // "alive", "dead" or "notready"
	leases bool   // it has a lease; else it reports its status every 10 s
	phase  int
	renew  time.Time
	lease  int64 // resourceVersion of the lease
}

// livesFault is what the API server does wrong for a while.
type livesFault struct {
	until time.Time
	scope string // "nodes", "pods" or "all"
	kind  string
	ratio int // in percent
	salt  uint64
	calls uint64
}

// errLivesTrying is what a write has come to that is under way.
var errLivesTrying = apierrors.NewConflict(schema.GroupResource{}, "", nil)

var errLivesPanic = errors.New("a writer panics, as it was told to")

// livesWorld is a cluster in elapsed time, with the evictors that act on it.
type livesWorld struct {
	plan      livesPlan
	now       time.Time     // never goes back
	skew      time.Duration // the wall clock is now+skew
	latest    time.Time     // the wall clock was never later
	version   int64
	uids      int
	nodes     livesTable[v1.Node]
	pods      livesTable[v1.Pod]
	machines  map[string]*livesMachine
	budgets   map[string]time.Time // pods that a disruption budget protects, and until when
	retry     int                  // what a refusing budget suggests, in seconds
	gone      map[string]time.Time // when kubelets remove terminating pods
	faults    []*livesFault
	processes []*livesProcess
	harm      error
	removed   map[string]time.Time // when nodes were last deleted
	amid      []livesEvent         // to happen while the next writes are under way
	pauses    map[string]bool
	holds     map[string]time.Time // since when
	touched   map[string]time.Time // when pods were last written, or protected
	judge     *livesJudge
	logf      func(string, ...any)
}

// livesProcess is one evictor with its store and what permits it to write.
type livesProcess struct {
	world      *livesWorld
	slot       int
	evictor    *evictor.Evictor
	mind       *livesMind
	leads      bool
	blind      error
	next       time.Time
	fed        bool
	frozen     time.Time            // it is not stepped before
	lag        map[string]time.Time // "nodes", "pods", "leases": nothing of these arrives before
	seenNodes  map[string]*v1.Node
	seenPods   map[string]*v1.Pod
	lateLeases map[string]bool
	rewound    map[string]bool // pods that the store shows though it has shown them gone or going
}

func (w *livesWorld) wall() time.Time { return w.now.Add(w.skew) }

func (w *livesWorld) held(name string) bool { _, held := w.holds[name]; return held }

type livesClock struct{ world *livesWorld }

func (c livesClock) Now() time.Time                        { return c.world.wall() }
func (c livesClock) Since(earlier time.Time) time.Duration { return c.world.wall().Sub(earlier) }

func livesPodKey(key string) evictor.PodKey { return evictor.PodKey{Namespace: "lives", Name: key} }

func (w *livesWorld) uid() types.UID {
	w.uids++
	return types.UID(fmt.Sprintf("uid-%d", w.uids))
}

// setNode and setPod write to the API server, and every store that does not lag hears of it.
func (w *livesWorld) setNode(name string, node *v1.Node) {
	w.version++
	if node != nil {
		node.ResourceVersion = fmt.Sprint(w.version)
	} else {
		w.removed[name] = w.now
	}
	w.nodes.put(w.version, name, node)
	for _, p := range w.processes {
		if !w.now.Before(p.lag["nodes"]) {
			p.showNodes(name)
		}
	}
}

func (w *livesWorld) setPod(name string, pod *v1.Pod) {
	w.version++
	if pod != nil {
		pod.ResourceVersion = fmt.Sprint(w.version)
	}
	w.pods.put(w.version, name, pod)
	w.touched[name] = w.now
	for _, p := range w.processes {
		if !w.now.Before(p.lag["pods"]) {
			p.showPods(name)
		}
	}
}

// showNodes and showPods bring these keys of a store up to date, all without arguments.
func (p *livesProcess) showNodes(names ...string) {
	if names == nil {
		names = livesKeys(p.world.nodes.now, p.seenNodes)
	}
	for _, name := range names {
		livesCopy(p.seenNodes, p.world.nodes.now, name)
		p.evictor.NodeChanged(name)
	}
	p.fed = true
}

func (p *livesProcess) showPods(names ...string) {
	if names == nil {
		names = livesKeys(p.world.pods.now, p.seenPods)
	}
	for _, name := range names {
		livesCopy(p.seenPods, p.world.pods.now, name)
		delete(p.rewound, name)
		p.evictor.PodChanged(livesPodKey(name))
	}
	p.fed = true
}

func livesCopy[T any](to, from map[string]*T, key string) {
	if object := from[key]; object != nil {
		to[key] = object
	} else {
		delete(to, key)
	}
}

func livesKeys[V any](tables ...map[string]V) []string {
	all := []string{}
	for _, table := range tables {
		for key := range table {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// goBack shows a store as it was some versions ago, as a relist from a stale cache does.
func (p *livesProcess) goBack(kind string, version int64) {
	if kind == "nodes" {
		old := p.world.nodes.at(version)
		names := livesKeys(old, p.seenNodes)
		p.seenNodes = old
		for _, name := range names {
			p.evictor.NodeChanged(name)
		}
	} else {
		old := p.world.pods.at(version)
		names := livesKeys(old, p.seenPods)
		before := p.seenPods
		p.seenPods = old
		for _, name := range names {
			if is, was := old[name], before[name]; is != nil && is.DeletionTimestamp == nil && p.wentAway(is, was) {
				p.rewound[name] = true
			}
			p.evictor.PodChanged(livesPodKey(name))
		}
	}
	p.fed = true
}

// wentAway says that a pod that is shown has been shown gone or terminating.
func (p *livesProcess) wentAway(is, was *v1.Pod) bool {
	return was == nil || was.UID != is.UID || was.DeletionTimestamp != nil
}

// renewed tells a process the lease of a node.
func (p *livesProcess) renewed(name string) {
	machine := p.world.machines[name]
	if machine == nil {
		return
	}
	if p.world.now.Before(p.lag["leases"]) {
		p.lateLeases[name] = true
		return
	}
	p.mind.lease(name, machine.renew, machine.lease)
	p.evictor.LeaseObserved(name, machine.renew, fmt.Sprint(machine.lease))
	p.fed = true
}

// catchUp ends the lags whose time has come.
func (p *livesProcess) catchUp() {
	for _, kind := range []string{"nodes", "pods", "leases"} {
		if until, lags := p.lag[kind]; !lags || p.world.now.Before(until) {
			continue
		}
		delete(p.lag, kind)
		p.mind.disturbed("lag")
		switch kind {
		case "nodes":
			p.showNodes()
		case "pods":
			p.showPods()
		default:
			late := livesSorted(p.lateLeases)
			p.lateLeases = map[string]bool{}
			for _, name := range late {
				p.renewed(name)
			}
		}
	}
}

func livesSorted(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The store.

func (p *livesProcess) Synced() bool { return true }

func (p *livesProcess) Node(name string) (*v1.Node, bool) {
	node := p.seenNodes[name]
	p.mind.shownNode(name, node)
	return node, node != nil
}

func (p *livesProcess) Nodes(visit func(*v1.Node) bool) {
	for _, name := range livesKeys(p.seenNodes) {
		node := p.seenNodes[name]
		p.mind.shownNode(name, node)
		if !visit(node) {
			return
		}
	}
}

func (p *livesProcess) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	pod := p.seenPods[key.Name]
	p.mind.shownPod(key.Name, pod)
	return pod, pod != nil
}

func (p *livesProcess) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	for _, name := range livesKeys(p.seenPods) {
		if pod := p.seenPods[name]; pod.Spec.NodeName == node {
			p.mind.shownPod(name, pod)
			if !visit(pod) {
				return
			}
		}
	}
}

// The writers. A write is judged before it is looked at, and lands unless the API server is ill.

func livesMix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// write lets do happen, or a fault in its place.
func (p *livesProcess) write(scope, what string, do func() error) error {
	w := p.world
	if len(w.amid) > 0 {
		event := w.amid[0]
		w.amid = w.amid[1:]
		w.logf("EVENT %s", event)
		w.happens(event)
	}
	for _, fault := range w.faults {
		if !w.now.Before(fault.until) || fault.scope != "all" && fault.scope != scope {
			continue
		}
		fault.calls++
		if int(livesMix(fault.salt+fault.calls)%100) >= fault.ratio {
			continue
		}
		p.mind.disturbed(fault.kind)
		w.logf("  p%d %s: %s", p.slot, what, fault.kind)
		resource := schema.GroupResource{Resource: scope}
		switch fault.kind {
		case "conflict":
			return apierrors.NewConflict(resource, what, errors.New("the object has been modified"))
		case "busy":
			return apierrors.NewTooManyRequestsError("too much to do")
		case "busy-retry":
			return apierrors.NewTooManyRequests("too much to do", 3)
		case "internal":
			return apierrors.NewInternalError(errors.New("etcd is ill"))
		case "timeout":
			return context.DeadlineExceeded
		case "done-timeout":
			_ = do()
			return apierrors.NewServerTimeout(resource, "patch", 0)
		case "forbidden":
			return apierrors.NewForbidden(resource, what, errors.New("no"))
		case "panic":
			panic(errLivesPanic)
		case "done-panic":
			_ = do()
			panic(errLivesPanic)
		}
	}
	err := do()
	if err != nil {
		p.mind.disturbed("refused")
	}
	w.logf("  p%d %s: %v", p.slot, what, err)
	return err
}

// nodeNow is the node in the API server if it is the one that was meant.
func (w *livesWorld) nodeNow(node *v1.Node, exact bool) (*v1.Node, error) {
	resource := schema.GroupResource{Resource: "nodes"}
	now := w.nodes.now[node.Name]
	switch {
	case now == nil:
		return nil, apierrors.NewNotFound(resource, node.Name)
	case now.UID != node.UID || exact && now.ResourceVersion != node.ResourceVersion:
		return nil, apierrors.NewConflict(resource, node.Name, errors.New("the object has been modified"))
	}
	return now.DeepCopy(), nil
}

func (p *livesProcess) UpdateConditions(_ context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	p.mind.updatesConditions(node, conditions)
	return p.write("nodes", "conditions of "+node.Name, func() error {
		now, err := p.world.nodeNow(node, false)
		if err != nil {
			return err
		}
		for _, condition := range conditions {
			if i := slices.IndexFunc(now.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == condition.Type }); i >= 0 {
				now.Status.Conditions[i] = condition
			} else {
				now.Status.Conditions = append(now.Status.Conditions, condition)
			}
		}
		p.world.setNode(node.Name, now)
		return nil
	})
}

func (p *livesProcess) UpdateTaints(_ context.Context, node *v1.Node, change taints.Change) (err error) {
	p.mind.updatesTaints(node, change)
	if own, _ := livesNoExecute(change.Add); len(own) > 0 {
		defer func() { p.mind.turns(node, err) }()
		p.mind.turns(node, errLivesTrying)
	}
	return p.write("nodes", fmt.Sprintf("taints of %s +%v -%v", node.Name, livesTaints(change.Add), livesTaints(change.Remove)), func() error {
		now, err := p.world.nodeNow(node, true)
		if err != nil {
			return err
		}
		before := now.Spec.Taints
		now.Spec.Taints = change.Apply(before, p.world.wall())
		p.mind.tainted(node, before, now.Spec.Taints)
		p.world.setNode(node.Name, now)
		return nil
	})
}

func (p *livesProcess) UpdateLabels(_ context.Context, node *v1.Node, labels map[string]string) error {
	p.mind.writes("labels of " + node.Name)
	return p.write("nodes", "labels of "+node.Name, func() error {
		now, err := p.world.nodeNow(node, false)
		if err != nil {
			return err
		}
		for key, value := range labels {
			now.Labels[key] = value
		}
		p.world.setNode(node.Name, now)
		return nil
	})
}

// podNow is the pod in the API server if it is the one that was meant.
func (w *livesWorld) podNow(ref evictor.PodRef) (*v1.Pod, error) {
	resource := schema.GroupResource{Resource: "pods"}
	now := w.pods.now[ref.Name]
	switch {
	case now == nil:
		return nil, apierrors.NewNotFound(resource, ref.Name)
	case now.UID != ref.UID:
		return nil, apierrors.NewConflict(resource, ref.Name, errors.New("the UID differs"))
	}
	return now.DeepCopy(), nil
}

func (p *livesProcess) Evict(_ context.Context, ref evictor.PodRef, why evictor.Decision) error {
	p.mind.evicts(ref, why)
	err := p.write("pods", "eviction of "+ref.Name+" from "+ref.Node, func() error {
		w := p.world
		now, err := w.podNow(ref)
		if err != nil {
			return err
		}
		if until, protected := w.budgets[ref.Name]; protected && w.now.Before(until) {
			w.touched[ref.Name] = w.now
			refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", w.retry)
			refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause})
			return refusal
		}
		if now.DeletionTimestamp == nil {
			stamp := metav1.NewTime(w.wall())
			now.DeletionTimestamp = &stamp
			w.gone[ref.Name] = w.now.Add(5 * time.Second)
			w.setPod(ref.Name, now)
		}
		return nil
	})
	p.mind.evicted(ref, err)
	return err
}

func (p *livesProcess) MarkNotReady(_ context.Context, ref evictor.PodRef) error {
	p.mind.marks(ref)
	return p.write("pods", "mark of "+ref.Name, func() error {
		now, err := p.world.podNow(ref)
		if err != nil {
			return err
		}
		for i := range now.Status.Conditions {
			if now.Status.Conditions[i].Type == v1.PodReady {
				now.Status.Conditions[i].Status = v1.ConditionFalse
			}
		}
		if known := p.mind.nodes[ref.Node]; known != nil {
			known.marked[ref.UID] = true
		}
		p.world.setPod(ref.Name, now)
		return nil
	})
}

func (p *livesProcess) Event(event evictor.Event) { p.mind.writes("event " + event.Reason) }

func livesTaints(list []v1.Taint) []string {
	all := []string{}
	for i := range list {
		all = append(all, livesTaintString(&list[i]))
	}
	return all
}

func livesTaintString(taint *v1.Taint) string {
	text := taint.ToString()
	if taint.TimeAdded != nil {
		text += "@" + taint.TimeAdded.UTC().Format("15:04:05")
	}
	return text
}
