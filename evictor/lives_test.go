package evictor_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
)

// A life is a cluster of a few nodes with one or two evictors, to which things happen for half an hour: all that a
// seed says, and nothing that is read from an evictor. What follows then is a quiet time in which everything must come
// right. lives_model_test.go judges every write when it is made.

var (
	livesCount = flag.Int("lives", 0, "how many random lives to play in each mode; 0 means EVICTKIT_LIVES, or a few")
	livesSeed  = flag.Int64("life", 0, "play the life of this seed alone, and print its log")
)

type metav1OwnerReference = metav1.OwnerReference

const (
	livesZone    = v1.LabelTopologyZone
	livesExclude = "node.kubernetes.io/exclude-disruption"
)

var livesBegin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func livesSince(at time.Time) string { return at.Sub(livesBegin).String() }

// livesEvent is one thing that happens. Its numbers mean something only within the world in which they are applied, so
// that any event can be left out.
type livesEvent struct {
	at      time.Duration
	kind    string
	a, b, c int
	amid    bool // it happens in the middle of a Step: while the next write is under way
}

func (e livesEvent) String() string {
	text := fmt.Sprintf("%6s %-12s %d %d %d", e.at, e.kind, e.a, e.b, e.c)
	if e.amid {
		text += " amid a write"
	}
	return text
}

// livesPlan is a whole life.
type livesPlan struct {
	Taints bool
	Two    bool
	Nodes  int
	Pods   int // on each node
	Zones  int
	Rate   float64
	Events []livesEvent
}

func (p livesPlan) config() evictor.Config {
	config := evictor.DefaultConfig()
	config.TaintBasedEviction = p.Taints
	config.PodEvictionTimeout = 120 * time.Second
	config.NodeEvictionRate = p.Rate
	config.NodeMonitorGracePeriod = 40 * time.Second
	config.RetryMax = 30 * time.Second
	return config
}

const (
	livesActive = 1500 * time.Second
	livesQuiet  = 1200 * time.Second
)

// livesKinds says how often each kind of event is drawn, of those that every life may have.
var livesKinds = []struct {
	kind   string
	weight int
}{
	{"kill", 14}, {"revive", 12}, {"notready", 5}, {"killzone", 3}, {"revivezone", 3}, {"killall", 2}, {"reviveall", 2},
	{"taint", 10}, {"untaint", 6}, {"retaint", 4}, {"forge", 5}, {"strip", 3}, {"replacenode", 3}, {"deletenode", 2}, {"createnode", 3},
	{"movezone", 3}, {"exclude", 2}, {"loseready", 2}, {"addpod", 5}, {"deletepod", 3}, {"replacepod", 5}, {"tolerate", 8}, {"complete", 2},
	{"budget", 4}, {"lag", 8}, {"relist", 3}, {"back", 4}, {"backlease", 2}, {"restart", 4}, {"takeover", 3}, {"split", 2}, {"freeze", 3}, {"clockback", 2},
	{"hold", 4}, {"release", 3}, {"pause", 3}, {"resume", 3}, {"harm", 5}, {"lead", 3}, {"blind", 3}, {"fault", 12}, {"kick", 2}, {"twice", 2},
}

// livesOfProcesses cannot happen while one of them is within a Step.
var livesOfProcesses = []string{"lag", "relist", "back", "backlease", "restart", "takeover", "split", "freeze", "clockback", "twice", "blind"}

func newLivesPlan(seed int64, taints, two bool) livesPlan {
	random := rand.New(rand.NewSource(seed))
	plan := livesPlan{Taints: taints, Two: two, Nodes: 2 + random.Intn(9), Pods: 1 + random.Intn(3), Zones: 1 + random.Intn(3),
		Rate: []float64{0.1, 0.1, 0.05, 0.5}[random.Intn(4)]}
	total := 0
	for _, kind := range livesKinds {
		total += kind.weight
	}
	// Some lives are quiet but for a few kinds of events: what happens alone is seen more clearly.
	picky := random.Intn(3) == 0
	chosen := map[string]bool{"kill": true, "revive": true}
	for range 4 {
		chosen[livesKinds[random.Intn(len(livesKinds))].kind] = true
	}
	for range 10 + random.Intn(50) {
		draw, kind := random.Intn(total), ""
		for _, candidate := range livesKinds {
			if draw -= candidate.weight; draw < 0 {
				kind = candidate.kind
				break
			}
		}
		event := livesEvent{time.Duration(random.Intn(int(livesActive/time.Second))) * time.Second, kind, random.Intn(1 << 16), random.Intn(1 << 16), random.Intn(1 << 16), false}
		event.amid = event.c%5 == 0 && !slices.Contains(livesOfProcesses, kind)
		if !picky || chosen[kind] {
			plan.Events = append(plan.Events, event)
		}
	}
	slices.SortStableFunc(plan.Events, func(a, b livesEvent) int { return int(a.at - b.at) })
	return plan
}

// livesPlay plays a life and returns what was found wrong.
func livesPlay(plan livesPlan, logf func(string, ...any)) (judge *livesJudge) {
	w := &livesWorld{plan: plan, now: livesBegin, machines: map[string]*livesMachine{}, budgets: map[string]time.Time{}, gone: map[string]time.Time{},
		pauses: map[string]bool{}, holds: map[string]time.Time{}, touched: map[string]time.Time{}, removed: map[string]time.Time{}}
	w.logf = func(format string, args ...any) {
		if logf != nil {
			logf("%8s "+format, append([]any{w.now.Sub(livesBegin)}, args...)...)
		}
	}
	w.nodes.now, w.pods.now = map[string]*v1.Node{}, map[string]*v1.Pod{}
	judge = &livesJudge{world: w, paces: map[string][]time.Time{}}
	w.judge = judge
	for i := range plan.Nodes {
		w.createNode(fmt.Sprintf("n%d", i), i)
		for j := range plan.Pods {
			w.createPod(fmt.Sprintf("p%d-%d", i, j), fmt.Sprintf("n%d", i), i*7+j*3)
		}
	}
	w.now = w.now.Add(time.Hour) // the cluster is old
	for slot := range 2 {
		if slot == 0 || plan.Two {
			w.processes = append(w.processes, w.start(slot, slot == 0))
		}
	}
	begin, next := w.now, 0
	for second := time.Duration(0); second <= livesActive+livesQuiet && judge.rule == ""; second += time.Second {
		w.until(begin.Add(second))
		if second == livesActive {
			w.heal()
		}
		w.kubelets(int(second / time.Second))
		for ; next < len(plan.Events) && plan.Events[next].at <= second && second < livesActive; next++ {
			if plan.Events[next].amid {
				w.amid = append(w.amid, plan.Events[next])
				continue
			}
			w.logf("EVENT %s", plan.Events[next])
			w.happens(plan.Events[next])
		}
		for _, p := range w.processes {
			p.catchUp()
		}
		if w.wall().Before(w.latest) {
			judge.stood = w.now
		}
		judge.split = judge.split || len(w.processes) == 2 && w.processes[0].leads && w.processes[1].leads
		w.steps()
	}
	if judge.rule == "" {
		judge.ended()
	}
	return judge
}

// until moves on, with the Steps that are wanted before the next second.
func (w *livesWorld) until(end time.Time) {
	for i := 0; ; i++ {
		first := end
		for _, p := range w.processes {
			if at := p.next.Add(-w.skew); !p.next.IsZero() && at.After(w.now) && at.Before(first) && !w.now.Before(p.frozen) {
				first = at
			}
		}
		w.now = first
		if !first.Before(end) {
			return
		}
		if i > 200 {
			w.judge.wrong("spins", "more than 200 Steps within a second")
			return
		}
		w.steps()
	}
}

func (w *livesWorld) steps() {
	for _, p := range w.processes {
		if w.now.Before(p.frozen) || !p.fed && (p.next.IsZero() || p.next.After(w.wall())) {
			continue
		}
		p.step()
	}
}

func (p *livesProcess) step() {
	defer func() {
		if caught := recover(); caught != nil {
			if err, ok := caught.(error); !ok || !errors.Is(err, errLivesPanic) {
				p.mind.wrong("panic", "%v", caught)
			}
		}
	}()
	p.fed = false
	next, err := p.evictor.Step(context.Background())
	if err != nil {
		p.mind.wrong("Step failed", "%v", err)
	}
	p.next = next
	p.mind.stepped()
}

// start makes a process, as a program would: it lists, and holds and pauses as it was told.
func (w *livesWorld) start(slot int, leads bool) *livesProcess {
	p := &livesProcess{world: w, slot: slot, leads: leads, lag: map[string]time.Time{}, lateLeases: map[string]bool{}, rewound: map[string]bool{},
		seenNodes: map[string]*v1.Node{}, seenPods: map[string]*v1.Pod{}}
	p.mind = newLivesMind(p)
	if leads {
		w.judge.starts = append(w.judge.starts, w.now)
	}
	var err error
	p.evictor, err = evictor.New(w.plan.config(), evictor.Clients{Nodes: p, Pods: p, NodeWriter: p, PodWriter: p, EventSink: p}, evictor.Options{
		Clock: livesClock{w},
		MayWrite: func() error {
			if !p.leads {
				return errors.New("not the leader")
			}
			return nil
		},
		MayHarm: func() error { return w.harm },
		OnPass:  func(time.Duration) { p.mind.passed() },
		Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			w.logf("    p%d %s", slot, d)
		}),
	})
	if err != nil {
		w.judge.wrong("New failed", "%v", err)
		return p
	}
	for _, name := range livesKeys(w.holds) {
		p.evictor.Hold(name, "held")
	}
	for _, reason := range livesSorted(w.pauses) {
		p.evictor.Pause(reason)
	}
	p.showNodes()
	p.showPods()
	for _, name := range livesKeys(w.machines) {
		if w.machines[name].leases && !w.machines[name].renew.IsZero() {
			p.renewed(name)
		}
	}
	return p
}

// heal ends all that was done to the cluster but dead machines.
func (w *livesWorld) heal() {
	w.logf("QUIET")
	w.faults, w.harm, w.amid = nil, nil, nil
	clear(w.budgets)
	for _, reason := range livesSorted(w.pauses) {
		for _, p := range w.processes {
			p.evictor.Resume(reason)
		}
	}
	clear(w.pauses)
	for _, name := range livesKeys(w.holds) {
		for _, p := range w.processes {
			p.evictor.Release(name)
		}
	}
	clear(w.holds)
	for i, p := range w.processes {
		if lead := i == 0; lead != p.leads {
			p.leads = lead
			if lead {
				w.judge.starts = append(w.judge.starts, w.now)
			}
		}
		if p.blind != nil {
			p.blind = nil
			p.evictor.SetObserverHealth(nil)
		}
		p.frozen = time.Time{}
		p.mind.disturbed("healed")
		for kind := range p.lag {
			p.lag[kind] = w.now
		}
		p.fed = true // nothing is told again: what was lost must show
	}
}

// kubelets renews, reports, and removes terminating pods.
func (w *livesWorld) kubelets(second int) {
	for _, name := range livesKeys(w.machines) {
		machine, node := w.machines[name], w.nodes.now[name]
		if machine.state == "dead" || node == nil || (second+machine.phase)%10 != 0 {
			continue
		}
		want := v1.ConditionTrue
		if machine.state == "notready" {
			want = v1.ConditionFalse
		}
		if ready, _ := livesReady(node); ready != want || !machine.leases || (second+machine.phase)%300 == 0 {
			w.report(name, want)
		}
		if machine.leases {
			w.version++
			machine.renew, machine.lease = w.wall(), w.version
			for _, p := range w.processes {
				p.renewed(name)
			}
		}
	}
	for _, name := range livesKeys(w.gone) {
		pod := w.pods.now[name]
		if pod == nil || pod.DeletionTimestamp == nil {
			delete(w.gone, name)
			continue
		}
		machine := w.machines[pod.Spec.NodeName]
		if !w.now.Before(w.gone[name]) && (machine == nil || machine.state != "dead") {
			delete(w.gone, name)
			w.setPod(name, nil)
		}
	}
}

func (w *livesWorld) report(name string, ready v1.ConditionStatus) {
	node := w.nodes.now[name].DeepCopy()
	stamp := metav1.NewTime(w.wall())
	for _, kind := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeReady} {
		condition := v1.NodeCondition{Type: kind, Status: v1.ConditionFalse, LastHeartbeatTime: stamp, LastTransitionTime: stamp}
		if kind == v1.NodeReady {
			condition.Status = ready
		}
		i := slices.IndexFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == kind })
		if i < 0 {
			node.Status.Conditions = append(node.Status.Conditions, condition)
			continue
		}
		if node.Status.Conditions[i].Status == condition.Status {
			condition.LastTransitionTime = node.Status.Conditions[i].LastTransitionTime
		}
		node.Status.Conditions[i] = condition
	}
	w.setNode(name, node)
}

func (w *livesWorld) createNode(name string, number int) {
	w.machines[name] = &livesMachine{state: "alive", leases: number%4 != 3, phase: number * 3 % 10}
	w.setNode(name, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: w.uid(), CreationTimestamp: metav1.NewTime(w.wall()),
		Labels: map[string]string{livesZone: fmt.Sprintf("z%d", number%w.plan.Zones)}}})
	w.report(name, v1.ConditionTrue)
}

func (w *livesWorld) createPod(name, node string, number int) {
	stamp := metav1.NewTime(w.wall())
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "lives", UID: w.uid(), CreationTimestamp: stamp},
		Spec: v1.PodSpec{NodeName: node, Tolerations: livesTolerations(number)},
		Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &stamp, Conditions: []v1.PodCondition{
			{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: stamp}, {Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: stamp}}}}
	switch number % 11 {
	case 9:
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: new(bool)}}
		*pod.OwnerReferences[0].Controller = true
	case 10:
		pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
	}
	w.setPod(name, pod)
}

// livesTolerations is one of the lists that pods have.
func livesTolerations(number int) []v1.Toleration {
	exists := func(key string, seconds int64) v1.Toleration {
		t := v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
		if seconds >= 0 {
			t.TolerationSeconds = &seconds
		}
		return t
	}
	both := func(seconds int64) []v1.Toleration {
		return []v1.Toleration{exists(v1.TaintNodeNotReady, seconds), exists(v1.TaintNodeUnreachable, seconds)}
	}
	switch number % 9 {
	case 0:
		return nil
	case 1:
		return both(60)
	case 2:
		return append(both(300), exists("maintenance", 120))
	case 3:
		return []v1.Toleration{exists("", -1)}
	case 4:
		return append(both(0), exists("maintenance", 30))
	case 5:
		return append(both(200), v1.Toleration{Key: "maintenance", Operator: v1.TolerationOpEqual, Value: "a"})
	case 6:
		return append(both(20), exists("maintenance", 200), exists("maintenance", 5))
	case 7:
		return []v1.Toleration{exists(v1.TaintNodeNotReady, 100), exists(v1.TaintNodeUnreachable, 30), exists("", 250)}
	default:
		return append(both(-1), exists("maintenance", 60), exists("repair", 90))
	}
}

// livesRun plays lives and, where one fails, the shortest that fails alike.
func livesRun(t *testing.T, taints, two bool) {
	count := *livesCount
	if count == 0 {
		count, _ = strconv.Atoi(os.Getenv("EVICTKIT_LIVES"))
	}
	if count == 0 {
		count = 60
	}
	if *livesSeed != 0 {
		judge := livesPlay(newLivesPlan(*livesSeed, taints, two), func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
		if judge.rule != "" {
			t.Errorf("life %d: %s: %s", *livesSeed, judge.rule, judge.message)
			short, _ := livesShrink(newLivesPlan(*livesSeed, taints, two), judge.rule)
			fmt.Println("the shortest life that is wrong alike:")
			livesPlay(short, func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
		}
		return
	}
	rules := map[string]int{}
	for seed := int64(1); seed <= int64(count); seed++ {
		plan := newLivesPlan(seed, taints, two)
		judge := livesPlay(plan, nil)
		if judge.rule == "" {
			continue
		}
		if rules[judge.rule]++; rules[judge.rule] > 1 {
			if rules[judge.rule] < 10 {
				t.Errorf("life %d: %s", seed, judge.rule)
			}
			continue
		}
		short, message := livesShrink(plan, judge.rule)
		text := fmt.Sprintf("life %d: %s: %s\nshortest, %d nodes in %d zones with %d pods each, rate %v: %s\n", seed, judge.rule, judge.message,
			short.Nodes, short.Zones, short.Pods, short.Rate, message)
		for _, event := range short.Events {
			text += event.String() + "\n"
		}
		if os.Getenv("EVICTKIT_LIVES_LOG") != "" {
			livesPlay(short, func(format string, args ...any) { text += fmt.Sprintf(format, args...) + "\n" })
		}
		t.Error(text)
	}
	t.Logf("%d lives, wrong: %v", count, rules)
}

// livesShrink leaves out events, nodes and pods as long as the same rule is broken.
func livesShrink(plan livesPlan, rule string) (livesPlan, string) {
	message := ""
	fails := func(candidate livesPlan) bool {
		judge := livesPlay(candidate, nil)
		if judge.rule == rule {
			message = judge.message
		}
		return judge.rule == rule
	}
	for size := max(1, len(plan.Events)/2); size >= 1; size /= 2 {
		for again := true; again; {
			again = false
			for from := 0; from < len(plan.Events); {
				shorter := plan
				shorter.Events = slices.Delete(slices.Clone(plan.Events), from, min(from+size, len(plan.Events)))
				if fails(shorter) {
					plan, again = shorter, size == 1
				} else {
					from += size
				}
			}
		}
	}
	for _, smaller := range []func(*livesPlan){func(p *livesPlan) { p.Two = false }, func(p *livesPlan) { p.Pods-- }, func(p *livesPlan) { p.Pods-- }} {
		candidate := plan
		if smaller(&candidate); candidate.Pods > 0 && fails(candidate) {
			plan = candidate
		}
	}
	fails(plan)
	return plan, message
}

func TestLivesWithTaints(t *testing.T)         { livesRun(t, true, false) }
func TestLivesWithoutTaints(t *testing.T)      { livesRun(t, false, false) }
func TestLivesOfTwo(t *testing.T)              { livesRun(t, true, true) }
func TestLivesOfTwoWithoutTaints(t *testing.T) { livesRun(t, false, true) }
