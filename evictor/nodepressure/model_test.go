package nodepressure_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// model decides from the whole history anew each time, with exact quantities and without any state.
type model struct {
	config  Config // thresholds of the container file system derived
	history []seen
}

type seen struct {
	at    time.Time
	stats Stats
}

// short says whether less than the threshold, and its minimum reclaim when that counts, is available.
func short(t Threshold, stats Stats, withReclaim bool) bool {
	s, ok := stats.Signals[t.Signal]
	if !ok {
		return false
	}
	limit := t.Value.At(s.Capacity)
	if withReclaim {
		limit.Add(t.MinReclaim.At(s.Capacity))
	}
	return limit.CmpInt64(s.Available) > 0
}

// met says whether a threshold was met at step n, whether due, and since which step.
func (m *model) met(t Threshold, n int) (met, due bool, since int) {
	if n < 0 {
		return false, false, 0
	}
	wasMet, wasDue, first := m.met(t, n-1)
	met = short(t, m.history[n].stats, false) || wasDue && short(t, m.history[n].stats, true)
	if !met {
		return false, false, 0
	}
	if !wasMet {
		first = n
	}
	return true, m.history[n].at.Sub(m.history[first].at) >= t.GracePeriod, first
}

// fresh says whether the sample of a signal at step n is newer than the last one before.
func (m *model) fresh(signal Signal, n int) bool {
	at := m.history[n].stats.Signals[signal].Time
	for i := n - 1; i >= 0; i-- {
		if s, ok := m.history[i].stats.Signals[signal]; ok {
			return at.IsZero() || s.Time.IsZero() || at.After(s.Time)
		}
	}
	return true
}

func (m *model) conditions() (under []v1.NodeConditionType) {
	last := len(m.history) - 1
	for _, condition := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		called := slices.ContainsFunc(m.config.Thresholds, func(t Threshold) bool {
			for n := last; n >= 0; n-- {
				age := m.history[last].at.Sub(m.history[n].at)
				if met, _, _ := m.met(t, n); met && t.Signal.Condition() == condition && (n == last || age < m.config.PressureTransitionPeriod) {
					return true
				}
			}
			return false
		})
		if called {
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
			for _, t := range m.config.Thresholds {
				if _, due, _ := m.met(t, last); due && t.Hard() == hard && t.Signal == signal && m.fresh(signal, last) {
					return t, true
				}
			}
		}
	}
	return Threshold{}, false
}

// before says whether a goes before b, by the words of the rule.
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

// next is the first evictable pod that no other evictable pod goes before.
func (m *model) next(pods []Pod, signal Signal) string {
	for _, candidate := range pods {
		if ProtectionOf(candidate.Pod) == Evictable && !slices.ContainsFunc(pods, func(other Pod) bool {
			return ProtectionOf(other.Pod) == Evictable && before(other, candidate, signal, m.config.Layout)
		}) {
			return candidate.Name
		}
	}
	return ""
}

// TestRandomSeries plays random series on the machine and on the model.
func TestRandomSeries(t *testing.T) {
	acted := map[Action]int{}
	for seed := int64(0); seed < 150; seed++ {
		r := rand.New(rand.NewSource(seed))
		config := randomConfig(r)
		n := newNode(t, config, randomPods(r)...)
		m := &model{config: config}
		m.config.Thresholds = n.machine.Thresholds()
		for step := 0; step < 20; step++ {
			where := fmt.Sprintf("seed %d step %d", seed, step)
			n.after(time.Duration(r.Intn(40)) * time.Second)
			stats := randomStats(r, n.clock.Now(), n.pods)
			m.history = append(m.history, seen{n.clock.Now(), stats})
			d := n.machine.Observe(stats)
			acted[d.Action]++

			require.Equal(t, m.conditions(), d.Conditions, where)
			require.Equal(t, d.Conditions, n.machine.Conditions(), where)
			for i, threshold := range m.config.Thresholds {
				met, due, since := m.met(threshold, len(m.history)-1)
				at := slices.IndexFunc(d.Met, func(found MetThreshold) bool { return found.Threshold.String() == threshold.String() })
				require.Equal(t, met, at >= 0, "%s threshold %d", where, i)
				if met {
					require.Equal(t, due, d.Met[at].Due, where)
					require.Equal(t, m.history[since].at, d.Met[at].Since, where)
					require.Equal(t, !short(threshold, stats, false), d.Met[at].Held, where)
				}
			}
			first, found := m.acts()
			require.Equal(t, found, d.Action != Nothing, where)
			if !found {
				continue
			}
			require.Equal(t, first.String(), d.Threshold.String(), where)
			var want []string
			if name := m.next(stats.Pods, first.Signal); name != "" {
				want = []string{name}
			}
			require.Equal(t, want, evicted(d.Evictions), where)
			if d.Action != ReclaimNode {
				continue
			}
			again := randomStats(r, n.clock.Now(), n.pods)
			enough := !slices.ContainsFunc(m.config.Thresholds, func(t Threshold) bool { return short(t, again, true) })
			require.Equal(t, enough && len(again.Signals) > 0, n.machine.AfterReclaim(d, again).Action == Nothing, where)
		}
	}
	for _, action := range []Action{Nothing, ReclaimNode, EvictPods, Stuck} {
		require.Greater(t, acted[action], 20, action.String())
	}
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
			if r.Intn(3) > 0 {
				continue
			}
			threshold := Threshold{Signal: signal, Value: value(), GracePeriod: grace}
			if r.Intn(2) == 0 {
				threshold.MinReclaim = value()
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
