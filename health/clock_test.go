package health

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/internal/clockcases"
)

var periods = []time.Duration{0, 5 * time.Second}

// clockLife plays 400 seconds of a monitor: some nodes live, some die, one never reports, and a new one comes 2 seconds
// after each time the wall clock was set. It returns the verdicts, and when they came.
func clockLife(t *testing.T, period time.Duration, one clockcases.Case, sets ...int) (told []string) {
	clk := one.Clock()
	config := Config{NodeMonitorPeriod: period, NodeMonitorGracePeriod: 40 * time.Second, NodeStartupGracePeriod: 60 * time.Second, Clock: clk}
	m, err := NewMonitor(config)
	require.NoError(t, err)
	beat := func(name string, second int) {
		n := node(name, "u", v1.ConditionTrue, float64(second))
		n.CreationTimestamp = metav1.NewTime(clk.Wall())
		m.ObserveNode(n)
	}
	for i := range 6 {
		beat(fmt.Sprint("node-", i), 0)
	}
	mute := func(name string, created time.Time) {
		n := node(name, "u", "", -1)
		n.CreationTimestamp = metav1.NewTime(created)
		m.ObserveNode(n)
	}
	mute("mute", clk.Wall().Add(-10*time.Second))
	ready := map[string]v1.ConditionStatus{}
	for second := range 400 {
		if next, ok := m.Next(); ok && !next.After(clk.Now()) {
			for _, v := range m.Pass() {
				if was, known := ready[v.Node]; !known || was != v.Ready {
					told = append(told, fmt.Sprintf("%d %s %s", second, v.Node, v.Ready))
				}
				ready[v.Node] = v.Ready
			}
		}
		for i := range 6 {
			if second%10 == i && second < 100*(i+1) { // the first three fall silent
				beat(fmt.Sprint("node-", i), second)
			}
		}
		switch i := slices.Index(sets, second); {
		case i >= 0:
			clk.Set(one.Set)
		case slices.Contains(sets, second-2):
			mute(fmt.Sprint("new-", second), clk.Wall())
		}
		clk.Pass(time.Second)
	}
	return told
}

// With monotonic readings, setting the wall clock changes no verdict. Without them, a clock that goes back stands still
// for a moment, and one that goes forward is a gap, which condemns nobody.
func TestWallIsSet(t *testing.T) {
	for _, period := range periods {
		for _, one := range clockcases.Cases() {
			for _, sets := range [][]int{{30}, {97}, {131, 139}, {0, 200}} {
				still := one
				still.Set = 0
				want := clockLife(t, period, still, sets...)
				got := clockLife(t, period, one, sets...)
				if one.Monotonic {
					require.Equal(t, want, got, "%v %v %v", period, one, sets)
					continue
				}
				// Each time forward, some of a grace counts that did not pass; each time back, a second may be lost.
				require.Equal(t, names(want), names(got), "%v %v %v", period, one, sets)
			}
		}
	}
}

// names returns the verdicts without their times.
func names(told []string) (all []string) {
	for _, line := range told {
		var second int
		var name, ready string
		_, _ = fmt.Sscan(line, &second, &name, &ready)
		all = append(all, name+" "+ready)
	}
	slices.Sort(all)
	return all
}
