package pods

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// What the program refuses waits apart until then, whatever becomes of its eviction, and delays no other pod.
func TestWithheldOnesWait(t *testing.T) {
	no := errors.New("no")
	s := tell(t)
	for _, name := range []string{"a", "b"} {
		s.pod(name, 60, 900)
	}
	unreachable := taint(v1.TaintNodeUnreachable, "", 0)
	s.node(0, unreachable)
	check := func(name string, unasked, apart bool, now int) Try {
		return s.p.Check(s.armed[name], s.store[name], true, apart, s.ours, Permits{Soon: time.Second, Unasked: unasked}, at(now))
	}
	require.Equal(t, Ask, check("a", true, false, 60).Outcome)
	require.Equal(t, Ask, check("a", true, false, 60).Outcome, "nothing was claimed")
	s.p.Withhold(s.armed["a"], MayEvict, no, "no", at(100))
	try := check("a", true, false, 60)
	require.Equal(t, []any{Apart, 40 * time.Second, MayEvict, true, no}, []any{try.Outcome, try.Wait, try.Delay, try.News, try.Err})
	require.Equal(t, no, s.p.Refusal(s.armed["a"]))
	try = check("a", true, true, 70)
	require.Equal(t, []any{Wait, 30 * time.Second, false}, []any{try.Outcome, try.Wait, try.News})
	require.Equal(t, Ask, check("b", true, false, 70).Outcome, "the same node, and no controller")

	s.node(71)
	require.Equal(t, "arm a at 132 for node.kubernetes.io/unreachable, arm b at 132 for node.kubernetes.io/unreachable", s.node(72, unreachable))
	s.p.ReportAnew(s.armed["a"].Pod().Key)
	s.p.Withhold(s.armed["a"], MayEvict, no, "no", at(200))
	try = check("a", true, false, 132)
	require.Equal(t, []any{Apart, true}, []any{try.Outcome, try.News}, "it is told of the new eviction too")

	s.p.AskAgain()
	require.Equal(t, "try a", s.follows())
	try = check("a", true, true, 133)
	require.Equal(t, []any{Ask, 2, 1}, []any{try.Outcome, try.Refusals, try.Kicks})
	s.p.Withhold(s.armed["a"], MayEvict, errors.New("never"), "never", at(200))
	require.True(t, check("a", true, true, 133).News, "another reason")
	require.Equal(t, Proceed, check("a", false, true, 200).Outcome)
	require.Empty(t, s.p.withheld)
}

// Without taints, a node that keeps what the program refuses is emptied, and the same refusal is reported once in an outage.
func TestWithheldOnesHoldNoTurn(t *testing.T) {
	s := tellOf(t, byEmptying, func(*v1.Taint) bool { return false })
	s.pod("a", 60, 900)
	check := func(now int) Try {
		return s.p.Check(s.armed["a"], s.store["a"], true, false, s.ours, Permits{Unasked: true}, at(now))
	}
	for outage, news := range []bool{true, false, true} {
		s.ours.Evict = true
		s.node(outage * 100)
		s.p.Withhold(s.armed["a"], MayEvict, errors.New("no"), "no", at(outage*100+60))
		require.Equal(t, news, check(outage*100).News, outage)
		require.Equal(t, Done, s.n.Emptied())
		if s.ours.Evict = false; outage == 1 {
			s.n.Recovered()
		}
		s.node(outage*100 + 50)
	}
}

// A refusal is forgotten with its pod or its node.
func TestWithheldOnesAreForgotten(t *testing.T) {
	for name, goes := range map[string]func(s *story){
		"gone":     func(s *story) { delete(s.store, "a") },
		"replaced": func(s *story) { s.pod("a", 60, 900).UID = "another" },
		"its node": func(s *story) { s.p.Remove(&s.n, true) },
	} {
		s := tell(t)
		s.pod("a", 60, 900)
		s.node(0, taint(v1.TaintNodeUnreachable, "", 0))
		ev := s.armed["a"]
		s.p.Withhold(ev, MayEvict, errors.New("no"), "no", at(100))
		require.Len(t, s.p.withheld, 1)
		goes(s)
		s.shown(70, "a")
		require.Empty(t, s.p.withheld, name)
		s.p.Withhold(ev, MayEvict, errors.New("no"), "no", at(100))
		require.Empty(t, s.p.withheld, "an answer that comes late")
	}
}
