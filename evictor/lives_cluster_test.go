package evictor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/leases"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
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

// goBack forgets what came after a version.
func (t *livesTable[T]) goBack(version int64) {
	t.now = t.at(version)
	t.history = slices.DeleteFunc(t.history, func(past livesObject[T]) bool { return past.version > version })
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
	lease  int64     // resourceVersion of the lease
	well   time.Time // until when it reports NotReady since it is back, zero for not
}

var errLivesPanic = errors.New("a client panics, as it was told to")

// livesAll stands for all domains, beside the names of some.
const livesAll = "*"

// livesWorld is a cluster in elapsed time, with the evictors that act on it. The API server's clock shows elapsed time.
type livesWorld struct {
	plan   livesPlan
	config evictor.Config
	slack  time.Duration // for how much sooner or later something may happen than it should
	judge  *livesJudge
	logf   func(string, ...any)
	real   time.Time // under Run: what the clock of the bubble showed at livesBegin

	mu        sync.Mutex // guards what follows, and all that belongs to a process; a process calls us from several goroutines under Run
	now       time.Time
	version   int64
	uids      int
	nodes     livesTable[v1.Node]
	pods      livesTable[v1.Pod]
	machines  map[string]*livesMachine
	budgets   map[string]time.Time // pods that a disruption budget protects, and until when
	retry     int                  // what a refusing budget suggests, in seconds
	gone      map[string]time.Time // when kubelets remove terminating pods
	touched   map[string]time.Time // when pods were last written, protected, or moved with their node
	faults    []*livesFault
	turnsShut time.Time    // until when no node may have its turn
	amid      []livesEvent // to happen while the next writes are under way
	about     string       // the node of the write that is
	midst     time.Time    // when that was last
	holds     map[string]time.Time
	freed     map[string]time.Time       // when holds last ended
	shutBy    map[string]map[string]bool // why a domain is closed to harm: pauses and fences
	closed    map[string]error           // the same, an error where there is any
	shutSince map[string]time.Time
	ruling    zone.Ruling // what the program's policy says, where it says more than the default one
	shaken    time.Time   // when a hold or permission last changed
	processes []*livesProcess
	calls     []func() // to evictors, which must not be called under mu where they call us from other goroutines
}

// fresh says whether something changed at this instant, at which processes may know of it or not.
func (w *livesWorld) fresh(at time.Time) bool { return w.plan.Run && at.Equal(w.now) }

// call calls an evictor.
func (w *livesWorld) call(f func()) {
	if w.plan.Run {
		w.calls = append(w.calls, f)
	} else {
		f()
	}
}

// livesProcess is one evictor with its store and what permits it to write.
type livesProcess struct {
	world      *livesWorld
	slot       int
	evictor    livesEvictor
	paused     *gate.Pause
	reader     *leases.Reader // nil if the watch is believed
	mind       *livesMind
	skew       time.Duration // of its wall clock
	set        *atomic.Int64 // the same, for its clock
	leads      bool
	ledAt      time.Time // when that last changed
	blind      error
	blindSince time.Time
	next       time.Time
	fed        bool
	frozen     time.Time            // it is not stepped before
	lag        map[string]time.Time // "nodes", "pods", "leases": nothing of these arrives before
	seenNodes  map[string]*v1.Node
	seenPods   map[string]*v1.Pod
	lateLeases map[string]bool
	deaf       map[string]time.Time // nodes whose leases it is not told, and until when
	mute       time.Time            // until when no lease can be read
	panics     int                  // of the store, to come
	starting   bool                 // its evictor is being made
	cancel     func()               // ends Run
	stop       func()               // waits until it has ended
}

func (p *livesProcess) wall() time.Time { return p.world.now.Add(p.skew) }

func livesReady(node *v1.Node) (status v1.ConditionStatus, beat time.Time) {
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady {
			return condition.Status, condition.LastHeartbeatTime.Time
		}
	}
	return "", time.Time{}
}

func livesVersion(object metav1.Object) int64 {
	version, _ := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	return version
}

var livesOwn = []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable}

func livesIsOwn(key string) bool { return slices.Contains(livesOwn, key) }

// livesNoExecute are the keys of the taints that we write NoExecute, and of those that we do not write at all.
func livesNoExecute(list []v1.Taint) (own, foreign []string) {
	for _, taint := range list {
		if taint.Effect == v1.TaintEffectNoExecute && livesIsOwn(taint.Key) {
			own = append(own, taint.Key)
		} else if !strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			foreign = append(foreign, taint.Key)
		}
	}
	return own, foreign
}

func livesDaemon(pod *v1.Pod) bool { return len(pod.OwnerReferences) > 0 }

func livesSpared(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Annotations[v1.MirrorPodAnnotationKey] != ""
}

func livesLater(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

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
	count := 0
	for _, table := range tables {
		count += len(table)
	}
	all := make([]string, 0, count)
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
		p.seenPods = old
		for _, name := range names {
			p.evictor.PodChanged(livesPodKey(name))
		}
	}
	p.fed = true
}

// renewed tells a process the lease of a node.
func (p *livesProcess) renewed(name string) {
	machine := p.world.machines[name]
	if machine == nil || machine.lease == 0 { // it has no lease yet; the late one was that of the machine before
		return
	}
	if p.world.now.Before(p.deaf[name]) {
		return
	}
	if p.world.now.Before(p.lag["leases"]) {
		p.lateLeases[name] = true
		return
	}
	if !p.mind.slot.IsZero() {
		p.mind.listens() // also while it is frozen: the feed goes on
	}
	p.mind.renewed(name, machine.renew, machine.lease)
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
			late := livesKeys(p.lateLeases)
			p.lateLeases = map[string]bool{}
			for _, name := range late {
				p.renewed(name)
			}
		}
	}
}

// The store.

func (p *livesProcess) Synced() bool { return true }

// enter is called wherever an evictor calls; panics are for the store to have.
func (p *livesProcess) enter() func() {
	p.world.enter()
	if p.panics > 0 {
		p.panics--
		p.mind.disturbed("own panic")
		p.fed = true
		p.world.mu.Unlock()
		panic(errLivesPanic)
	}
	return p.world.mu.Unlock
}

func (p *livesProcess) Node(name string) (*v1.Node, bool) {
	defer p.enter()()
	node := p.seenNodes[name]
	p.mind.shownNode(name, node)
	return node, node != nil
}

func (p *livesProcess) Nodes(visit func(*v1.Node) bool) {
	defer p.enter()()
	for _, name := range livesKeys(p.seenNodes) {
		node := p.seenNodes[name]
		p.mind.shownNode(name, node)
		if !visit(node) {
			return
		}
	}
}

func (p *livesProcess) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	defer p.enter()()
	pod := p.seenPods[key.Name]
	p.mind.shownPod(key.Name, pod)
	return pod, pod != nil
}

func (p *livesProcess) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	defer p.enter()()
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

// write judges a write, if there is a judge, and lets do happen, or a fault in its place. Under Run it takes a while.
func (p *livesProcess) write(ctx context.Context, scope, node, what string, judge func(*livesMind) string, do func() error) (err error) {
	w := p.world
	w.enter()
	defer w.mu.Unlock()
	if judge != nil {
		p.mind.may(what, judge)
	}
	w.judge.writes++
	chosen := w.chooseAnswer(what)
	if w.plan.Run {
		wait := time.Duration(livesMix(uint64(w.judge.writes))%8) * 40 * time.Millisecond
		if fault := w.bites(what); fault != nil && fault.kind == "slow" {
			p.mind.disturbedIn(livesScope(what), "own slow")
			wait += time.Duration(fault.salt%30) * time.Second
		}
		w.mu.Unlock()
		ended := livesSleep(ctx, wait)
		w.enter()
		if ended {
			return ctx.Err()
		}
	}
	if i := slices.IndexFunc(w.amid, func(e livesEvent) bool { return (scope == "pods" || !e.ofPods()) && !e.ofQuestion() }); i >= 0 {
		event := w.amid[i]
		w.amid = slices.Delete(w.amid, i, i+1)
		w.logf("EVENT %s", event)
		happens := func() {
			w.about, w.midst = node, w.now
			w.happens(event)
		}
		if event.b%2 == 0 {
			happens()
		} else {
			defer happens() // when it has landed
		}
	}
	if fault := cmp.Or(chosen, w.bites(what)); fault != nil {
		p.mind.disturbedIn(livesScope(what), fault.String())
		w.logf("  p%d %s: %s", p.slot, what, fault.kind)
		return fault.answers(p, scope, what, do)
	}
	if err = do(); err != nil {
		p.mind.disturbedIn(livesScope(what), "own refusal")
	}
	w.logf("  p%d %s: %v", p.slot, what, err)
	return err
}

// livesSleep says whether the context ended first.
func livesSleep(ctx context.Context, d time.Duration) (ended bool) {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(d):
		return false
	}
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

// node makes a write of a node: change is told the API server's, to be changed.
func (p *livesProcess) node(ctx context.Context, kind kind, what string, node *v1.Node, exact bool, judge func(*livesMind) string, change func(now *v1.Node)) error {
	err := p.write(ctx, "nodes", node.Name, what+" of "+node.Name, func(m *livesMind) string {
		if rule := m.writes(node); rule != "" || judge == nil {
			return rule
		}
		return judge(m)
	}, func() error {
		now, err := p.world.nodeNow(node, exact)
		if err == nil {
			change(now)
			p.world.setNode(node.Name, now)
		}
		return err
	})
	p.world.enter()
	defer p.world.mu.Unlock()
	if p.mind.wrote(kind, err); apierrors.IsConflict(err) {
		p.mind.conflicted(node.Name)
	}
	p.mind.misses(node.Name, node, err)
	return err
}

func (p *livesProcess) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	return p.node(ctx, "ConditionsWritten", "conditions", node, false, func(m *livesMind) string { return m.updatesConditions(node, conditions) }, func(now *v1.Node) {
		for _, condition := range conditions {
			if i := slices.IndexFunc(now.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == condition.Type }); i >= 0 {
				now.Status.Conditions[i] = condition
			} else {
				now.Status.Conditions = append(now.Status.Conditions, condition)
			}
		}
	})
}

func (p *livesProcess) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) (err error) {
	own, _ := livesNoExecute(change.Add)
	if has, _ := livesNoExecute(node.Spec.Taints); len(own) > 0 && len(has) == 0 {
		turn := func(does func()) {
			p.world.enter()
			defer p.world.mu.Unlock()
			does()
		}
		turn(func() { p.mind.tries(node.Name) })
		err = errLivesPanic // unless it returns
		defer func() { turn(func() { p.mind.tried(node.Name, err) }) }()
	}
	what := fmt.Sprintf("taints +%v -%v", livesTaints(change.Add), livesTaints(change.Remove))
	return p.node(ctx, "TaintsWritten", what, node, true, func(m *livesMind) string { return m.updatesTaints(node, change) }, func(now *v1.Node) {
		now.Spec.Taints = change.Apply(now.Spec.Taints, p.wall())
	})
}

func (p *livesProcess) UpdateLabels(ctx context.Context, node *v1.Node, labels map[string]string) error {
	return p.node(ctx, "LabelsWritten", "labels", node, false, nil, func(now *v1.Node) { maps.Copy(now.Labels, labels) })
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

func (p *livesProcess) Evict(ctx context.Context, ref evictor.PodRef, why taints.Deadline) error {
	w := p.world
	w.enter()
	what := "eviction of " + ref.Name + " from " + ref.Node
	p.mind.may(what, func(m *livesMind) string {
		unasked := w.plan.May && !m.permitted[ref.UID].Equal(w.now)
		return livesRules{{"evicted without being permitted", unasked}, {m.evicts(ref, why), true}}.first()
	})
	p.mind.evicting(ref, false)
	w.mu.Unlock()
	err := errLivesPanic // unless it returns
	defer func() {
		w.enter()
		defer w.mu.Unlock()
		p.mind.emptied(ref, why.Taint == nil, err)
	}()
	err = p.write(ctx, "pods", ref.Node, what, nil, func() error {
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
			stamp := metav1.NewTime(w.now)
			now.DeletionTimestamp = &stamp
			w.gone[ref.Name] = w.now.Add(5 * time.Second)
			w.setPod(ref.Name, now)
		}
		return nil
	})
	w.enter()
	defer w.mu.Unlock()
	p.mind.wrote("PodEvicted", err)
	p.mind.misses(ref.Name, p.seenPods[ref.Name], err)
	p.mind.of(ref, func(known *livesPod) {
		known.evicted = known.evicted || err == nil || apierrors.IsNotFound(err)
		known.failed = err != nil
		if known.later = w.now; apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
			seconds, _ := apierrors.SuggestsClientDelay(err)
			known.later, known.laterDirect = w.now.Add(time.Duration(seconds)*time.Second), why.Taint == nil
		}
	})
	return err
}

func (p *livesProcess) MarkNotReady(ctx context.Context, ref evictor.PodRef) error {
	err := p.write(ctx, "pods", ref.Node, "mark of "+ref.Name, func(m *livesMind) string { return m.marks(ref) }, func() error {
		now, err := p.world.podNow(ref)
		if err != nil {
			return err
		}
		for i := range now.Status.Conditions {
			if now.Status.Conditions[i].Type == v1.PodReady {
				now.Status.Conditions[i].Status = v1.ConditionFalse
			}
		}
		p.world.setPod(ref.Name, now)
		return nil
	})
	p.world.enter()
	defer p.world.mu.Unlock()
	p.mind.wrote("PodMarkedNotReady", err)
	p.mind.misses(ref.Name, p.seenPods[ref.Name], err)
	if err == nil {
		p.mind.of(ref, func(known *livesPod) { known.marked = p.world.now })
	}
	return err
}

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
