package nodepressure_test

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/internal/clockcases"
)

// model decides from the whole history, with exact quantities. It caches what it found for each step.
type model struct {
	config  Config // with derived thresholds of the container file system
	history []seen
}

type seen struct {
	at    time.Duration // how much time has passed, by the rule of package steady
	stats Stats
	met   []metAt // by threshold
}

// metAt says whether a threshold was met, whether due, and since which step.
type metAt struct {
	met, due bool
	since    int
}

// observe adds a step to the history.
func (m *model) observe(at time.Duration, stats Stats) {
	m.history = append(m.history, seen{at: at, stats: stats})
	n := len(m.history) - 1
	for i, t := range m.config.Thresholds {
		var before metAt
		if n > 0 {
			before = m.history[n-1].met[i]
		}
		now := metAt{met: short(t, stats, false) || before.due && short(t, stats, true)}
		if now.met {
			now.since = n
			if before.met {
				now.since = before.since
			}
			now.due = at-m.history[now.since].at >= t.GracePeriod
		}
		m.history[n].met = append(m.history[n].met, now)
	}
}

// short says whether less than the threshold is available or, with withReclaim, less than the threshold and its minimum
// reclaim.
func short(t Threshold, stats Stats, withReclaim bool) bool {
	s, ok := stats.Signals[t.Signal]
	if !ok {
		return false
	}
	limit := t.Value.At(s.Capacity)
	if withReclaim {
		limit.Add(t.MinReclaim.At(s.Capacity))
		if s.Capacity > 0 && limit.CmpInt64(s.Capacity) >= 0 {
			limit = t.Value.At(s.Capacity) // so much is never available
		}
	}
	return limit.CmpInt64(s.Available) > 0
}

// fresh says whether the sample of a signal at step n is newer than the one before.
func (m *model) fresh(signal Signal, n int) bool {
	at := m.history[n].stats.Signals[signal].Time
	for i := n - 1; i >= 0; i-- {
		if s, ok := m.history[i].stats.Signals[signal]; ok {
			return at.IsZero() || s.Time.IsZero() || at.After(s.Time)
		}
	}
	return true
}

// called returns the last step at which a shortage called for a condition.
func (m *model) called(condition v1.NodeConditionType) (step int, ok bool) {
	for n := len(m.history) - 1; n >= 0; n-- {
		for i, t := range m.config.Thresholds {
			if m.history[n].met[i].met && t.Signal.Condition() == condition {
				return n, true
			}
		}
	}
	return 0, false
}

// next returns how much time passes until a grace period ends, or a condition that nothing calls for any more.
func (m *model) next() (in time.Duration, pending bool) {
	last := len(m.history) - 1
	now := m.history[last]
	in = time.Duration(math.MaxInt64)
	for i, t := range m.config.Thresholds {
		if met := now.met[i]; met.met && !met.due {
			in, pending = min(in, t.GracePeriod-(now.at-m.history[met.since].at)), true
		}
	}
	for _, condition := range m.conditions() {
		if at, _ := m.called(condition); at != last {
			in, pending = min(in, m.config.PressureTransitionPeriod-(now.at-m.history[at].at)), true
		}
	}
	return in, pending
}

func (m *model) conditions() (under []v1.NodeConditionType) {
	last := len(m.history) - 1
	for _, condition := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		if at, ok := m.called(condition); ok && (at == last || m.history[last].at-m.history[at].at < m.config.PressureTransitionPeriod) {
			under = append(under, condition)
		}
	}
	return under
}

// acts returns the threshold to act on.
func (m *model) acts() (first Threshold, found bool) {
	last := len(m.history) - 1
	for _, hard := range []bool{true, false} {
		for _, signal := range Signals() {
			for i, t := range m.config.Thresholds {
				if m.history[last].met[i].due && t.Hard() == hard && t.Signal == signal && m.fresh(signal, last) {
					return t, true
				}
			}
		}
	}
	return Threshold{}, false
}

// before says whether a goes before b, by the rule's own words.
func before(a, b Pod, signal Signal, layout Layout) bool {
	unknown := func(p Pod) bool { return p.Usage == nil }
	request := func(p Pod) int64 {
		if signal.Resource() == ResourceInodes || signal.Resource() == ResourcePIDs {
			return 0
		}
		q := p.Spec.Containers[0].Resources.Requests[signal.Resource()]
		return q.Value()
	}
	over := func(p Pod) int64 {
		if unknown(p) {
			return 0
		}
		return p.Uses(signal, layout) - request(p)
	}
	exceeds := func(p Pod) bool { return over(p) > 0 }
	if signal != PIDAvailable {
		if unknown(a) != unknown(b) {
			return unknown(a)
		}
		if exceeds(a) != exceeds(b) {
			return exceeds(a)
		}
	}
	if *a.Spec.Priority != *b.Spec.Priority {
		return *a.Spec.Priority < *b.Spec.Priority
	}
	if unknown(a) != unknown(b) {
		return unknown(a)
	}
	if over(a) != over(b) {
		return over(a) > over(b)
	}
	return a.Name < b.Name
}

// victim returns the first evictable pod that no other evictable pod goes before.
func (m *model) victim(pods []Pod, signal Signal) string {
	for _, candidate := range pods {
		if ProtectionOf(candidate.Pod) == Evictable && !slices.ContainsFunc(pods, func(other Pod) bool {
			return ProtectionOf(other.Pod) == Evictable && before(other, candidate, signal, m.config.Layout)
		}) {
			return candidate.Name
		}
	}
	return ""
}

// operations returns how many samples TestRandomSeries plays: more if the environment says so.
func operations(t *testing.T) int {
	text := os.Getenv("EVICTKIT_OPERATIONS")
	if text == "" {
		return 3000
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// TestRandomSeries plays random series on the machine and on the model, with clocks whose wall clock is set at random.
func TestRandomSeries(t *testing.T) {
	const steps = 20
	acted := map[Action]int{}
	for seed := int64(0); int(seed)*steps < operations(t); seed++ {
		s := newRandomSeries(t, seed)
		for step := 0; step < steps; step++ {
			s.where = fmt.Sprintf("seed %d step %d", seed, step)
			s.step(t, acted)
		}
	}
	t.Log(acted)
	for _, action := range []Action{Nothing, ReclaimNode, EvictPods, Stuck} {
		require.Greater(t, acted[action], 20, action.String())
	}
}

// randomSeries is a machine and its model on a random clock.
type randomSeries struct {
	r         *rand.Rand
	clock     *clockcases.Clock
	monotonic bool          // the clock
	passed    time.Duration // by the rule of package steady
	machine   *Machine
	model     *model
	pods      []Pod
	where     string
}

func newRandomSeries(t *testing.T, seed int64) *randomSeries {
	r := rand.New(rand.NewSource(seed))
	s := &randomSeries{r: r, monotonic: r.Intn(2) > 0}
	s.clock = clockcases.New(s.monotonic)
	config := randomConfig(r)
	s.pods = randomPods(r)
	config.Clock = s.clock
	machine, err := New(config)
	require.NoError(t, err)
	s.machine, s.model = machine, &model{config: config}
	s.model.config.Thresholds = machine.Thresholds()
	return s
}

// advance moves the clock on, and sometimes sets its wall clock.
func (s *randomSeries) advance() {
	d := time.Duration(s.r.Intn(40)) * time.Second
	s.clock.Pass(d)
	if s.r.Intn(10) > 0 {
		s.passed += d
		return
	}
	jumps := clockcases.Cases()
	jump := jumps[s.r.Intn(len(jumps))].Set
	s.clock.Set(jump)
	switch {
	case s.monotonic: // only that part of a reading counts
		s.passed += d
	case jump > 0:
		s.passed += d + jump
	}
}

func (s *randomSeries) step(t *testing.T, acted map[Action]int) {
	first := len(s.model.history) == 0
	s.advance()
	if first {
		s.passed = 0
	}
	stats := randomStats(s.r, epoch.Add(s.passed), s.pods)
	s.model.observe(s.passed, stats)
	d := s.machine.Observe(stats)
	acted[d.Action]++

	require.Equal(t, s.clock.Wall(), d.Time.Round(0), "%s: instants are as the clock shows them now", s.where)
	require.Equal(t, s.model.conditions(), d.Conditions, s.where)
	require.Equal(t, d.Conditions, s.machine.Conditions(), s.where)
	next, pending := s.machine.Next()
	wantNext, wantPending := s.model.next()
	require.Equal(t, wantPending, pending, s.where)
	if pending {
		require.Equal(t, s.clock.Wall().Add(wantNext), next.Round(0), s.where)
	}
	s.met(t, d, stats)
	threshold, found := s.model.acts()
	require.Equal(t, found, d.Action != Nothing, s.where)
	if !found {
		return
	}
	require.Equal(t, threshold.String(), d.Threshold.String(), s.where)
	var want []string
	if name := s.model.victim(stats.Pods, threshold.Signal); name != "" {
		want = []string{name}
	}
	require.Equal(t, want, evicted(d.Evictions), s.where)
	if d.Action != ReclaimNode {
		return
	}
	again := randomStats(s.r, epoch.Add(s.passed), s.pods)
	enough := !slices.ContainsFunc(s.model.config.Thresholds, func(t Threshold) bool { return short(t, again, true) })
	require.Equal(t, enough && len(again.Signals) > 0, s.machine.AfterReclaim(d, again).Action == Nothing, s.where)
}

// met compares what is met, and since when.
func (s *randomSeries) met(t *testing.T, d Decision, stats Stats) {
	now := s.model.history[len(s.model.history)-1]
	i := 0 // index in d.Met, which is in the order of the thresholds
	for n, threshold := range s.model.config.Thresholds {
		if !now.met[n].met {
			continue
		}
		require.Greater(t, len(d.Met), i, s.where)
		met := d.Met[i]
		i++
		require.Equal(t, threshold, met.Threshold, s.where)
		require.Equal(t, now.met[n].due, met.Due, s.where)
		require.Equal(t, now.at-s.model.history[now.met[n].since].at, d.Time.Sub(met.Since), s.where)
		require.Equal(t, !short(threshold, stats, false), met.Rising, s.where)
		require.Equal(t, !s.model.fresh(threshold.Signal, len(s.model.history)-1), met.Stale, s.where)
	}
	require.Len(t, d.Met, i, s.where)
}

func randomConfig(r *rand.Rand) Config {
	config := Config{Layout: Layout(r.Intn(3)), PressureTransitionPeriod: time.Duration(r.Intn(4)) * 30 * time.Second}
	values := []string{"300", "400500m", "500", "0.25", "0.5"}
	value := func() Value {
		if i := r.Intn(len(values)); i < 3 {
			return Value{Quantity: resource.MustParse(values[i])}
		}
		return Value{Percentage: []float32{0.15, 0.3, 1. / 3, 0.5}[r.Intn(4)]}
	}
	for _, signal := range Signals() {
		for _, grace := range []time.Duration{0, time.Duration(1+r.Intn(90)) * time.Second} {
			if r.Intn(3) > 0 || signal == ContainerFsAvailable || signal == ContainerFsInodesFree {
				continue
			}
			threshold := Threshold{Signal: signal, Value: value(), GracePeriod: grace}
			if r.Intn(2) == 0 {
				threshold.MinReclaim = value()
			}
			if threshold.Value.Percentage+threshold.MinReclaim.Percentage >= 1 {
				threshold.MinReclaim = Value{}
			}
			config.Thresholds = append(config.Thresholds, threshold)
		}
	}
	r.Shuffle(len(config.Thresholds), func(i, j int) {
		config.Thresholds[i], config.Thresholds[j] = config.Thresholds[j], config.Thresholds[i]
	})
	return config
}

func randomStats(r *rand.Rand, now time.Time, pods []Pod) Stats {
	stats := Stats{Pods: slices.Clone(pods), Signals: map[Signal]Sample{}}
	r.Shuffle(len(stats.Pods), func(i, j int) { stats.Pods[i], stats.Pods[j] = stats.Pods[j], stats.Pods[i] })
	plenty := r.Intn(3) == 0
	for _, signal := range Signals() {
		if r.Intn(8) == 0 {
			continue
		}
		s := Sample{Capacity: 900 + int64(r.Intn(200)), Available: int64(r.Intn(1000))}
		if plenty {
			s.Available = 2000
		}
		if r.Intn(4) > 0 {
			s.Time = now.Add(-time.Duration(r.Intn(30)) * time.Second)
		}
		stats.Signals[signal] = s
	}
	return stats
}

func randomPods(r *rand.Rand) []Pod {
	pods := make([]Pod, r.Intn(6))
	for i := range pods {
		pods[i] = build(fmt.Sprintf("pod-%d", i), int32(r.Intn(3)), requests("memory", fmt.Sprint(r.Intn(3)*100), "ephemeral-storage", fmt.Sprint(r.Intn(3)*100)))
		switch r.Intn(6) {
		case 0:
			continue // its usage is not known
		case 1:
			*pods[i].Spec.Priority = 2_000_000_000
		}
		inodeUse(int64(r.Intn(3)*50), int64(r.Intn(3)*50), int64(r.Intn(3)*50))(&pods[i])
		u, c := usage(&pods[i])
		u.Memory, u.Processes = int64(r.Intn(4)*70), int64(r.Intn(4))
		c.Rootfs.Bytes, c.Logs.Bytes, u.Volumes[0].Disk.Bytes = int64(r.Intn(3)*50), int64(r.Intn(3)*50), int64(r.Intn(3)*50)
	}
	return pods
}
