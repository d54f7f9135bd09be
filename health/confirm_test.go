package health

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
)

// A suspect keeps its verdict until somebody confirms that it is silent.
func TestSuspect(t *testing.T) {
	for name, period := range map[string]time.Duration{"exact": 0, "on the grid": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			clk := testingclock.NewFakePassiveClock(epoch)
			m, err := NewMonitor(Config{Confirm: true, NodeMonitorPeriod: period, NodeMonitorGracePeriod: 40 * time.Second, NodeStartupGracePeriod: time.Minute, Clock: clk})
			require.NoError(t, err)
			w := &watch{m, t, clk}
			for _, name := range []string{"a", "b", "c"} {
				w.ObserveNode(node(name, "1", v1.ConditionTrue, 0))
			}
			require.Equal(t, []string{"0 a True", "0 b True", "0 c True"}, w.to(0))
			require.Len(t, w.to(46), 3, "told of as suspects, Ready as before")
			suspects := map[string]Verdict{}
			for _, name := range []string{"a", "b", "c"} {
				v, _ := w.Verdict(name)
				require.True(t, v.Suspect && !v.Expired && v.Ready == v1.ConditionTrue, "%+v", v)
				suspects[name] = v
			}
			next, asked := w.Next()
			require.True(t, !asked || next.After(clk.Now()), "nothing is due until there is an answer")

			v, ok := w.Confirm(suspects["a"])
			require.True(t, ok && v.Ready == v1.ConditionUnknown && v.Expired && !v.Suspect, "%+v", v)
			_, ok = w.Confirm(suspects["a"])
			require.False(t, ok, "once")

			require.True(t, w.ObserveRenewal("b", at(46)))
			_, ok = w.Confirm(suspects["b"])
			require.False(t, ok, "it has had a heartbeat meanwhile")
			require.True(t, w.Revive(suspects["c"]))
			w.to(50)
			for _, name := range []string{"b", "c"} {
				v, _ := w.Verdict(name)
				require.False(t, v.Suspect, name)
			}
			w.to(95)
			_, ok = w.Confirm(suspects["b"])
			require.False(t, ok, "a suspect again, which that answer is not about")

			w.Restart()
			require.Len(t, w.to(100), 2, "told that they are suspects no longer")
		})
	}
}
