package guard_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
)

var livesCount = flag.Int("lives", 60, "how many random lives to play")

// A life is a world in which nodes fail, recover, move to other racks, are replaced and untainted, answers are lost, the
// store lags, and evictors follow each other, with the same budget, one restored from a snapshot, or an empty one. The
// judge knows what happened and asks no budget: when a taint is written, no bound may surely be exceeded. At the end all
// is well, and the budget must be free again.
func TestBoundsHoldWhateverHappens(t *testing.T) {
	acts := 0
	for seed := range int64(*livesCount) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := newLife(t, seed)
			l.play()
			acts += l.count
		})
	}
	t.Log(acts)
	require.Greater(t, acts, 10**livesCount)
}

const (
	within   = 4 * time.Minute
	cooldown = 10 * time.Minute
)

// act is a taint that was written.
type act struct {
	group   string
	at      time.Time
	left    time.Time // when the first pod left
	open    bool      // nobody has seen what came of it
	carried bool      // the node has the taint yet
	known   bool      // to the budget in use
}

type life struct {
	*world
	r      *rand.Rand
	cfg    evictor.Config
	budget *nodeBudget
	kind   budget.Quantity
	bound  budget.Bound

	held   map[string]bool
	acts   map[string]*act      // the last of each name
	alarms map[string]time.Time // the last false alarm of a group
	ready  map[string]bool      // by verdicts
	turn   map[string]string    // group in which it was granted, and is not over
	trace  []string
	count  int
}

func newLife(t *testing.T, seed int64) *life {
	t.Helper()
	l := &life{world: newWorld(t), r: rand.New(rand.NewSource(seed)), held: map[string]bool{}, acts: map[string]*act{}, alarms: map[string]time.Time{}}
	l.cfg = fast()
	l.cfg.Nodes.UnhealthyZoneThreshold = 1
	if l.r.Intn(3) == 0 {
		l.cfg.Nodes.NodeMonitorPeriod = 0
	}
	most := int64(1 + l.r.Intn(2))
	l.kind = []budget.Quantity{budget.Acting, budget.Recent, budget.Unproven, budget.Bad, budget.Unavailable}[l.r.Intn(5)]
	l.bound = budget.Bound{Name: "bound", Per: "rack", Of: l.kind, Max: budget.Count(most)}
	switch l.kind {
	case budget.Recent:
		l.bound.Within = within
	case budget.Unproven:
		l.bound.Within, l.bound.Unjudged, l.bound.Cooldown, l.bound.Quiet = within, budget.Inconclusive, cooldown, 12*time.Hour
	case budget.Bad, budget.Unavailable:
		l.bound.Max = budget.Count(most + 1)
	}
	for i := range 12 {
		name := fmt.Sprintf("n%02d", i)
		l.create(name, "a", fmt.Sprint("r", i%2))
		l.addPod("p"+name, name, int64(5+l.r.Intn(60)))
	}
	for i := range 12 { // another zone, so that not all zones are down
		l.create(fmt.Sprintf("z%02d", i), "z", "rz")
	}
	l.wrote, l.left = l.judge, l.podLeft
	l.fail = l.fault
	l.lose = func(write, node string) error {
		if l.r.Intn(4) == 0 {
			return l.loses(write, node)
		}
		return nil
	}
	l.newBudget()
	l.start()
	return l
}

func (l *life) logf(format string, args ...any) {
	l.trace = append(l.trace, fmt.Sprintf("%8s ", l.clock.Since(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))+fmt.Sprintf(format, args...))
}

func (l *life) wrong(format string, args ...any) {
	l.t.Helper()
	for _, line := range l.trace {
		l.t.Log(line)
	}
	l.t.Fatalf(format, args...)
}

func (l *life) loses(write, node string) error {
	l.logf("the answer to %s of %s is lost", write, node)
	return lostAnswers["internal"]
}

// fault is the answer to a write that is not done.
func (l *life) fault(write, node string) error {
	if l.r.Intn(8) > 0 {
		return nil
	}
	l.logf("%s of %s fails", write, node)
	switch l.r.Intn(3) {
	case 0:
		return lostAnswers["timeout"]
	case 1:
		return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, node, context.Canceled)
	}
	return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, node, context.Canceled)
}

func (l *life) newBudget() {
	var err error
	l.budget, err = budget.New(budget.Config[string, guard.Member]{
		Dimensions: map[string]func(guard.Member) (string, bool){"rack": func(m guard.Member) (string, bool) { return m.Labels["rack"], true }},
		Bad:        func(m guard.Member) bool { return !m.Ready },
		Bounds:     []budget.Bound{l.bound}, Clock: l.clock,
	})
	require.NoError(l.t, err)
}

// start begins an evictor, whose first pass comes at once.
func (l *life) start() {
	l.ready, l.turn = map[string]bool{}, map[string]string{}
	for name, node := range l.nodes {
		l.ready[name] = says(node)
		if a := l.acts[name]; a != nil && l.ready[name] {
			a.open = false
		}
	}
	l.after = gate.Func(l.granted)
	l.begin(l.cfg, l.budget, guard.Options{}, evictor.Options{
		Observer: evictor.Observe(l.observe, nil), Hold: func(node *v1.Node) (string, bool) { return "held", l.held[node.Name] },
	})
}

func says(node *v1.Node) bool { return node.Status.Conditions[0].Status == v1.ConditionTrue }

func (l *life) observe(d evictor.NodeDecision) {
	switch d.Kind {
	case nodelifecycle.NodeVerdict:
		l.logf("%s is %s", d.Node, d.To)
		if l.ready[d.Node] = d.To == v1.ConditionTrue; l.ready[d.Node] {
			l.back(d.Node)
		}
	case nodelifecycle.NodeRegistered:
		l.ready[d.Node] = l.shown[d.Node] == nil || says(l.shown[d.Node])
	case nodelifecycle.NodeRemoved:
		delete(l.ready, d.Node)
		delete(l.turn, d.Node)
	case nodelifecycle.TurnEnded, nodelifecycle.TurnRefused, nodelifecycle.NodeDequeued:
		l.logf("%s: %s %s %v", d.Node, d.Kind, d.Reason, d.Err)
		delete(l.turn, d.Node)
	}
}

// back is told of a node that is ready again.
func (l *life) back(node string) {
	a, now := l.acts[node], l.clock.Now()
	if a == nil || !a.open {
		return
	}
	if a.open = false; a.known && !a.left.IsZero() && now.Sub(a.left) < l.cfg.Nodes.NodeMonitorGracePeriod-time.Second && now.Sub(a.at) < within-time.Second {
		l.logf("a false alarm in %s", a.group)
		l.alarms[a.group] = now
	}
}

func (l *life) podLeft(node string) {
	l.logf("a pod leaves %s", node)
	if a := l.acts[node]; a != nil && a.carried && a.left.IsZero() {
		a.left = l.clock.Now()
	}
}

func (l *life) rack(node string) string {
	if n := l.shown[node]; n != nil {
		return n.Labels["rack"]
	}
	return ""
}

// granted is asked after the guard, and judges what that permits.
func (l *life) granted(_ context.Context, turn gate.Act) error {
	if turn.Do != gate.Turn || l.turn[turn.Node] != "" { // it still has its turn
		return nil
	}
	group, most := l.rack(turn.Node), l.bound.Max.Of(0)
	bad, others := int64(0), int64(0)
	for name, ready := range l.ready {
		if !ready && l.rack(name) == group {
			bad++
		}
		if l.turn[name] == group && l.rack(name) == group && (l.acts[name] == nil || !l.counts(name, group, l.acts[name])) {
			others++
		}
	}
	for name, a := range l.acts {
		if name != turn.Node && a.known && l.counts(name, group, a) {
			others++
		}
	}
	switch at := l.alarms[group]; {
	case l.kind >= budget.Acting && others >= most, l.kind == budget.Unproven && others > 0: // nothing proves an act here
		l.wrong("%s has its turn, and %d others are %s in %s", turn.Node, others, l.kind, group)
	case (l.kind == budget.Bad || l.kind == budget.Unavailable) && bad > most:
		l.wrong("%s has its turn, and %d are bad in %s", turn.Node, bad, group)
	case l.kind == budget.Unproven && !at.IsZero() && l.clock.Since(at) < cooldown-time.Second:
		l.wrong("%s has its turn while its trial cools down", turn.Node)
	}
	l.turn[turn.Node] = group
	return nil
}

// judge is told of each change of taints before it is made.
func (l *life) judge(node *v1.Node, change taints.Change) {
	adds := carries(&v1.Node{Spec: v1.NodeSpec{Taints: change.Add}})
	if a := l.acts[node.Name]; a != nil && !adds && carries(&v1.Node{Spec: v1.NodeSpec{Taints: change.Remove}}) {
		if a.carried = false; !l.ready[node.Name] { // it says nothing
			a.open = false
		}
	}
	if carries(node) || !adds {
		return
	}
	group := l.turn[node.Name]
	if l.logf("%s is tainted, of %s", node.Name, group); group == "" {
		l.wrong("%s is tainted without a turn", node.Name)
	}
	l.count++
	moves := node.Labels["rack"] != group || l.rack(node.Name) != group // it counts where it is when the answer is known
	l.acts[node.Name] = &act{group: group, at: l.clock.Now(), open: true, carried: true, known: !moves || l.kind == budget.Acting}
}

// counts says whether the bound surely counts an act.
func (l *life) counts(name, group string, a *act) bool {
	recent := a.group == group && l.clock.Since(a.at) < within-time.Second
	switch l.kind {
	case budget.Acting:
		return a.carried && l.rack(name) == group
	case budget.Recent:
		return recent
	case budget.Unproven:
		return recent && a.open
	}
	return false
}

func (l *life) play() {
	for s := range 1800 {
		if l.step(time.Second); l.r.Intn(12) == 0 && s < 1500 {
			l.happens()
		}
		if s == 1500 {
			l.heal()
		}
	}
	if len(l.tainted()) > 0 {
		l.wrong("%v are tainted at the end", l.tainted())
	}
	for _, group := range l.budget.Groups("rack") {
		if st, _ := l.budget.Status("bound", group); (l.kind == budget.Acting || l.kind == budget.Unavailable || l.kind == budget.Bad) && st.Used > 0 {
			l.wrong("%d count in %s at the end", st.Used, group)
		}
	}
}

func (l *life) heal() {
	l.fail, l.lose, l.held = nil, nil, nil
	l.e.SetObserverHealth(nil)
	for _, name := range l.names() {
		if l.failed[name] {
			l.recover(name)
		}
	}
}

func (l *life) happens() {
	name := fmt.Sprintf("n%02d", l.r.Intn(12))
	node := l.nodes[name]
	switch what := l.r.Intn(18); {
	case node == nil:
		l.logf("%s is created", name)
		delete(l.failed, name)
		l.create(name, "a", fmt.Sprint("r", l.r.Intn(2)))
		l.addPod("p"+name, name, int64(5+l.r.Intn(60)))
	case what < 6 && !l.failed[name]:
		l.logf("%s fails", name)
		l.failed[name] = true
	case what < 9 && l.failed[name]:
		l.logf("%s recovers", name)
		l.recover(name)
	case what == 9:
		l.logf("%s moves", name)
		l.change(name, func(n *v1.Node) { n.Labels["rack"] = fmt.Sprint("r", l.r.Intn(2)) })
	case what == 10:
		l.logf("%s is deleted", name)
		l.put(name, nil)
		for key, pod := range l.pods {
			if pod.Spec.NodeName == name {
				delete(l.pods, key)
			}
		}
		l.ends(name, true)
	case what == 11:
		l.logf("%s is untainted", name)
		l.change(name, func(n *v1.Node) { n.Spec.Taints = nil })
		l.ends(name, false)
	case what == 16:
		l.held[name] = !l.held[name]
		l.logf("%s is held: %t", name, l.held[name])
		l.change(name, func(n *v1.Node) { n.Labels["changed"] = fmt.Sprint(l.version) })
	case what == 17:
		blind := lostAnswers[[]string{"network", ""}[l.r.Intn(2)]]
		l.logf("its eyes: %v", blind)
		l.e.SetObserverHealth(blind)
	case what == 15 && !carries(node):
		l.logf("%s is tainted by somebody else", name)
		l.change(name, func(n *v1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute})
		})
		l.ends(name, false) // a new act takes its place
	case what == 12:
		l.lag = time.Duration(l.r.Intn(4)) * time.Second
	case what == 13 && l.r.Intn(3) == 0:
		l.restart()
	case what == 14 && l.pods[evictor.PodKey{Namespace: "default", Name: "p" + name}] == nil:
		l.addPod("p"+name, name, int64(5+l.r.Intn(60)))
	}
}

// ends is told when somebody else ends an act, which stays open if the node is gone.
func (l *life) ends(name string, open bool) {
	if a := l.acts[name]; a != nil {
		a.carried, a.open = false, a.open && open
	}
}

func (l *life) restart() {
	switch l.r.Intn(3) {
	case 0:
		l.logf("restart on the same budget")
	case 1:
		l.logf("restart from a snapshot")
		text, err := json.Marshal(l.budget.Snapshot())
		require.NoError(l.t, err)
		var s budget.Snapshot[string]
		require.NoError(l.t, json.Unmarshal(text, &s))
		l.newBudget()
		require.NoError(l.t, l.budget.Restore(s))
	case 2:
		l.logf("restart with an empty budget")
		l.newBudget()
		l.alarms = map[string]time.Time{}
		for name, a := range l.acts {
			if a.known = a.carried; a.known {
				a.group = l.nodes[name].Labels["rack"]
			}
		}
	}
	l.start()
}
