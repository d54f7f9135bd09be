package evictor_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/zone"
)

// A life is a cluster of a few nodes with one or two evictors, to which things happen for half an hour: all that a
// seed says, and nothing that is read from an evictor. What follows then is a quiet time in which everything must come
// right. lives_may_test.go judges every write when it is made.
//
//	go test ./evictor -run TestLivesTainting -lives 20000
//	go test ./evictor -run TestLivesTainting -lives 1000 -livesfrom 5001
//	go test ./evictor -run TestLivesUnderRun -lives 5000 -race
//	go test ./evictor -run TestLivesDirect -life 17

var (
	livesCount = flag.Int("lives", 0, "how many random lives to play in each mode; 0 means EVICTKIT_LIVES, or some")
	livesFrom  = flag.Int("livesfrom", 1, "the seed of the first of them, so that many can be played in portions")
	livesFirst = flag.Bool("livesfirst", false, "end at the first life that is wrong, as it is")
	livesSeed  = flag.Int64("life", 0, "play the life of this seed alone, and print its log")
)

func TestLivesTainting(t *testing.T) { livesTest(t, 400, livesMode{Taints: true}) }
func TestLivesDirect(t *testing.T)   { livesTest(t, 300, livesMode{}) }
func TestLivesOfHalves(t *testing.T) {
	livesTest(t, 200, livesMode{Taints: true, Half: livesLifecycle}, livesMode{Half: livesLifecycle}, livesMode{Taints: true, Half: livesTaintEviction})
}
func TestLivesTwoLeaders(t *testing.T) {
	livesTest(t, 200, livesMode{Taints: true, Two: true}, livesMode{Two: true})
}

var livesBegin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func livesSince(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Sub(livesBegin).String()
}

func newLivesWorld(plan livesPlan, logf func(string, ...any)) *livesWorld {
	w := &livesWorld{
		plan: plan, config: plan.config(), slack: time.Second, now: livesBegin, machines: map[string]*livesMachine{}, budgets: map[string]time.Time{},
		gone: map[string]time.Time{}, touched: map[string]time.Time{}, holds: map[string]time.Time{}, freed: map[string]time.Time{}, shutBy: map[string]map[string]bool{},
		closed: map[string]error{}, shutSince: map[string]time.Time{}, ruling: zone.Ruling{Rate: 1},
	}
	w.logf = func(format string, args ...any) {
		if logf != nil {
			logf("%8s "+format, append([]any{w.now.Sub(livesBegin)}, args...)...)
		}
	}
	w.logf("%v", plan)
	w.nodes.now, w.pods.now = map[string]*v1.Node{}, map[string]*v1.Pod{}
	w.judge = &livesJudge{world: w, paces: map[string][]time.Time{}}
	for i := range plan.Nodes {
		w.createNode(fmt.Sprintf("n%d", i), i)
		for j := range plan.Pods {
			w.createPod(fmt.Sprintf("p%d-%d", i, j), fmt.Sprintf("n%d", i), i*7+j*3)
		}
	}
	return w
}

// enter locks the world for whoever calls it.
func (w *livesWorld) enter() {
	w.mu.Lock()
	if w.plan.Run {
		w.instant()
	}
}

// instant begins a new instant if it is one: what was written in the last one is judged by what is known at its end,
// too.
func (w *livesWorld) instant() {
	now := livesBegin.Add(time.Since(w.real))
	if !now.After(w.now) {
		return
	}
	for _, p := range w.processes {
		p.mind.instantEnds()
	}
	w.now = now
	for _, p := range w.processes {
		p.mind.before = p.mind.copy()
		p.mind.before.before = nil
	}
}

// livesPlay plays a life under Step and returns what was found wrong.
func livesPlay(plan livesPlan, logf func(string, ...any)) *livesJudge {
	w := newLivesWorld(plan, logf)
	w.now = w.now.Add(time.Hour) // the cluster is old
	w.begin()
	for begin, second := w.now, time.Duration(0); second <= plan.whole() && w.judge.rule == ""; second += time.Second {
		w.until(begin.Add(second))
		w.second(second)
		w.steps()
	}
	if w.judge.rule == "" {
		w.processes[0].mind.ended()
	}
	return w.judge
}

func (w *livesWorld) begin() {
	for slot := range 2 {
		if slot == 0 || w.plan.Two {
			p := w.newProcess(slot, w.plan.Skew[slot])
			w.processes = append(w.processes, p)
			p.lead(slot == 0)
			w.start(p)
		}
	}
}

// second lets happen what does by that time.
func (w *livesWorld) second(second time.Duration) {
	if second == w.plan.active() {
		w.heal()
	}
	w.kubelets(int(second / time.Second))
	for len(w.plan.Events) > 0 && w.plan.Events[0].at <= second && second < w.plan.active() {
		event := w.plan.Events[0]
		if w.plan.Events = w.plan.Events[1:]; event.amid {
			w.amid = append(w.amid, event)
			continue
		}
		w.logf("EVENT %s", event)
		w.happens(event)
	}
	w.chooseBetween(second)
	for _, p := range w.processes {
		p.catchUp()
	}
	w.judge.split = w.judge.split || len(w.processes) == 2 && w.processes[0].leads && w.processes[1].leads
}

// until moves on, with the Steps that are wanted before the next second.
func (w *livesWorld) until(end time.Time) {
	for i := 0; ; i++ {
		first := end
		for _, p := range w.processes {
			if at := p.next.Add(-p.skew); !p.next.IsZero() && at.After(w.now) && at.Before(first) && !w.now.Before(p.frozen) {
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
		if w.now.Before(p.frozen) || !p.fed && (p.next.IsZero() || p.next.After(p.wall())) {
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
			p.mind.passed() // there may have been a pass
		}
	}()
	p.fed = false
	if p.reader != nil {
		p.reader.Once(context.Background())
	}
	if !p.mind.slot.IsZero() {
		p.mind.listens()
	}
	next, err := p.evictor.Step(context.Background())
	if err != nil {
		p.mind.wrong("Step failed", "%v", err)
	}
	p.next = next
	p.mind.stepped()
}

// livesClock is a process's clock. It has timers under Run alone.
type livesClock struct {
	clock.RealClock
	p *livesProcess
}

func (c livesClock) Now() time.Time {
	if c.p.world.plan.Run {
		return livesBegin.Add(time.Since(c.p.world.real)).Add(time.Duration(c.p.set.Load()))
	}
	return c.p.wall()
}
func (c livesClock) Since(earlier time.Time) time.Duration { return c.Now().Sub(earlier) }

func (w *livesWorld) newProcess(slot int, skew time.Duration) *livesProcess {
	p := &livesProcess{world: w, slot: slot, skew: skew, set: new(atomic.Int64), lag: map[string]time.Time{}, lateLeases: map[string]bool{}, deaf: map[string]time.Time{},
		seenNodes: map[string]*v1.Node{}, seenPods: map[string]*v1.Pod{}}
	p.set.Store(int64(skew))
	p.mind = newLivesMind(p)
	return p
}

// start makes a process's evictor, as a program would: it lists, and holds and pauses as it was told.
func (w *livesWorld) start(p *livesProcess) {
	var err error
	p.starting = true
	p.evictor, err = newLivesEvictor(p)
	p.starting = false
	if err != nil {
		w.judge.wrong("New failed", "%v", err)
		return
	}
	for _, name := range livesKeys(w.holds) {
		p.hold(name, true)
	}
	for _, domain := range livesKeys(w.shutBy) {
		for _, reason := range livesKeys(w.shutBy[domain]) {
			if reason != "fence" {
				p.pause(domain, reason, true)
			}
		}
	}
	p.showNodes()
	p.showPods()
	for _, name := range livesKeys(w.machines) {
		if w.machines[name].leases && !w.machines[name].renew.IsZero() {
			p.renewed(name)
		}
	}
	if w.plan.Run {
		p.run()
	}
}

// run has the process's evictor Run until stop is called.
func (p *livesProcess) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if p.reader != nil {
			go p.reader.Run(ctx)
		}
		_ = p.evictor.Run(ctx)
	}()
	p.cancel, p.stop = cancel, func() { <-ended }
}

// restart starts another process in the place of one, with a clock that shows the same.
func (w *livesWorld) restart(p *livesProcess) {
	fresh := w.newProcess(p.slot, p.skew)
	w.processes[p.slot] = fresh
	fresh.lead(p.leads)
	if p.cancel != nil {
		p.cancel()
		w.calls = append(w.calls, p.stop)
	}
	w.start(fresh)
}

func (p *livesProcess) options() evictor.Options {
	w := p.world
	permitted := func(may func() error) func() error {
		return func() error {
			w.enter()
			defer w.mu.Unlock()
			w.asked("")
			return may()
		}
	}
	fence := func(domain string) error {
		if w.shutBy[domain]["fence"] || domain != livesAll && len(w.shutBy[domain]) > 0 {
			return errors.New("no harm for now")
		}
		return nil
	}
	options := evictor.Options{
		Clock: livesClock{p: p},
		Gate: gate.All(mayWrite(permitted(func() error {
			if !p.leads {
				return errors.New("not the leader")
			}
			return nil
		})), mayHarmIn(func(domain zone.Key) error {
			return permitted(func() error { return cmp.Or(fence(livesAll), fence(domain.Zone)) })()
		}), p.paused),
		Observer: evictor.Observers{observe(func(d decision) {
			w.enter()
			defer w.mu.Unlock()
			w.logf("    p%d %s", p.slot, d)
			p.mind.told(d)
		}), evictor.Observe(func(d evictor.NodeDecision) {
			w.enter()
			defer w.mu.Unlock()
			if p.mind.turnEnds(d); d.Kind == nodelifecycle.Passed {
				p.mind.passed()
			}
		}, nil)},
	}
	if w.plan.Racks {
		options.Domain = func(node *v1.Node) zone.Key { return zone.Key{Zone: w.plan.domain(node)} }
		options.Excluded = w.plan.excluded
	}
	if w.plan.Hold {
		options.Hold = func(node *v1.Node) (string, bool) {
			return node.Annotations[livesHold], node.Annotations[livesHold] != ""
		}
	}
	if w.plan.Prefer {
		options.Prefer = func(_ zone.Key, waiting []string) string {
			if len(waiting) == 3 {
				panic(errLivesPanic)
			}
			return append(slices.Clone(waiting), "nobody")[len(waiting)/2*2]
		}
	}
	if w.plan.May {
		options.Gate = gate.All(options.Gate, mayEvict(p.mayEvict))
	}
	options.Gate = gate.All(options.Gate, gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do != gate.Turn {
			return nil
		}
		return p.mayTurn(act)
	}))
	if w.plan.Policy {
		options.Policy = zone.PolicyFunc(p.decide)
	}
	return options
}

// decide is a zone policy that asks at every pass what the world says.
func (p *livesProcess) decide(s zone.Situation) zone.Ruling {
	w := p.world
	ruling := zone.DisruptionPolicy{EvictionRate: w.config.Nodes.NodeEvictionRate, SecondaryEvictionRate: w.config.Nodes.SecondaryNodeEvictionRate,
		LargeZoneThreshold: w.config.Nodes.LargeClusterSizeThreshold, UnhealthyThreshold: w.config.Nodes.UnhealthyZoneThreshold}.Decide(s)
	if !p.starting { // by whoever has the world
		w.enter()
		defer w.mu.Unlock()
	}
	ruling.Rate *= w.ruling.Rate
	ruling.AskAfter = time.Second
	p.mind.ruled(w.ruling)
	return ruling
}

// heal ends all that was done to the cluster but dead machines.
func (w *livesWorld) heal() {
	w.logf("QUIET")
	w.faults, w.amid, w.ruling, w.shaken = nil, nil, zone.Ruling{Rate: 1}, w.now
	clear(w.budgets)
	for _, domain := range livesKeys(w.shutBy) {
		for _, reason := range livesKeys(w.shutBy[domain]) {
			w.pause(domain, reason, false)
		}
	}
	for _, name := range livesKeys(w.holds) {
		w.hold(name, false)
	}
	for _, name := range livesKeys(w.nodes.now) {
		if node := w.nodes.now[name].DeepCopy(); node.Annotations[livesHold] != "" {
			node.Annotations, w.freed[name] = nil, w.now
			w.setNode(name, node)
		}
	}
	for i, p := range w.processes {
		p.lead(i == 0)
		if p.blind != nil {
			p.see(true)
		}
		p.frozen, p.panics, p.mute = time.Time{}, 0, time.Time{}
		clear(p.deaf)
		p.mind.disturbed("healed")
		for kind := range p.lag {
			p.lag[kind] = w.now
		}
		p.fed = true // nothing is told again: what was lost must show
	}
}

// kubelets renews, reports, and removes terminating pods.
func (w *livesWorld) kubelets(second int) {
	var due []string
	for name, machine := range w.machines {
		if !machine.well.IsZero() && !w.now.Before(machine.well) {
			machine.state, machine.well = "alive", time.Time{}
		}
		if w.plan.Choices != nil && second >= int(w.plan.active()/time.Second) {
			machine.phase = 0 // with every second pass: nothing is between them any more, and half of the Steps are enough
		}
		if machine.state != "dead" && w.nodes.now[name] != nil && (second+machine.phase)%10 == 0 {
			due = append(due, name)
		}
	}
	slices.Sort(due)
	for _, name := range due {
		machine, node := w.machines[name], w.nodes.now[name]
		want := v1.ConditionTrue
		if machine.state == "notready" {
			want = v1.ConditionFalse
		}
		if ready, _ := livesReady(node); ready != want || !machine.leases || (second+machine.phase)%300 == 0 {
			w.report(name, want)
		}
		if machine.leases {
			w.renew(name, machine)
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

func (w *livesWorld) renew(name string, machine *livesMachine) {
	w.version++
	machine.renew, machine.lease = w.now, w.version
	for _, p := range w.processes {
		p.renewed(name)
	}
}

func (w *livesWorld) report(name string, ready v1.ConditionStatus) {
	node := w.nodes.now[name].DeepCopy()
	stamp := metav1.NewTime(w.now)
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
	w.setNode(name, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: w.uid(), CreationTimestamp: metav1.NewTime(w.now),
		Labels: map[string]string{livesZone: fmt.Sprintf("z%d", number%w.plan.Zones), livesRack: fmt.Sprintf("z%d", number/2%w.plan.Zones), v1.LabelOSStable: "linux", "beta.kubernetes.io/os": "linux"}}})
	w.report(name, v1.ConditionTrue)
}

func (w *livesWorld) createPod(name, node string, number int) {
	stamp := metav1.NewTime(w.now)
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

// livesTest plays lives in these modes in turn and, where one is wrong, shows the shortest that is wrong alike.
func livesTest(t *testing.T, usual int, modes ...livesMode) {
	livesTestWith(t, usual, livesPlay, modes...)
}

func livesTestWith(t *testing.T, usual int, play func(livesPlan, func(string, ...any)) *livesJudge, modes ...livesMode) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		usual /= 10
	}
	plan := func(seed int64) livesPlan { return newLivesPlan(seed, modes[int(seed)%len(modes)]) }
	if *livesSeed != 0 {
		log := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
		if judge := play(plan(*livesSeed), log); judge.rule != "" {
			t.Errorf("life %d: %s: %s", *livesSeed, judge.rule, judge.message)
			short, _ := livesShrink(plan(*livesSeed), judge.rule, func(p livesPlan) *livesJudge { return play(p, nil) })
			fmt.Println("the shortest life that is wrong alike:")
			play(short, log)
		}
		return
	}
	count := *livesCount
	if count == 0 {
		count, _ = strconv.Atoi(os.Getenv("EVICTKIT_LIVES"))
	}
	if count == 0 {
		count = usual
	}
	var mu sync.Mutex // guards what follows
	rules, writes, began := map[string]int{}, 0, time.Now()
	live := func(t *testing.T, seed int64) {
		judge := play(plan(seed), nil)
		mu.Lock()
		defer mu.Unlock()
		writes += judge.writes
		if judge.rule == "" {
			return
		}
		if rules[judge.rule]++; rules[judge.rule] > 1 || *livesFirst {
			if rules[judge.rule] < 10 {
				t.Errorf("life %d: %s: %s", seed, judge.rule, judge.message)
			}
			return
		}
		short, message := livesShrink(plan(seed), judge.rule, func(p livesPlan) *livesJudge { return play(p, nil) })
		var text strings.Builder
		fmt.Fprintf(&text, "life %d: %s: %s\nshortest, %v: %s\n", seed, judge.rule, judge.message, short, message)
		for _, event := range short.Events {
			fmt.Fprintln(&text, event)
		}
		t.Error(text.String())
	}
	const shards = 2
	t.Run("shards", func(t *testing.T) {
		for shard := range shards {
			t.Run(strconv.Itoa(shard), func(t *testing.T) {
				t.Parallel()
				for seed := *livesFrom + shard; seed < *livesFrom+count && !(*livesFirst && t.Failed()); seed += shards {
					live(t, int64(seed))
				}
			})
		}
	})
	t.Logf("%d lives, %d writes, %.0f lives a second, wrong: %v", count, writes, float64(count)/time.Since(began).Seconds(), rules)
}
