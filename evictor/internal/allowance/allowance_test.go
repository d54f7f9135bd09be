package allowance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/zone"
)

// story has nodes, and a budget in which some of them are bad.
type story struct {
	*Allowance
	t      *testing.T
	clock  *clocktesting.FakeClock
	budget *budget.Budget[string, bool]
	nodes  map[string]*Node
}

func tell(t *testing.T, pending func(*budget.Refusal) zone.Pending, bounds ...budget.Bound) *story {
	s := &story{t: t, clock: clocktesting.NewFakeClock(time.Unix(0, 0)), nodes: map[string]*Node{}}
	var err error
	s.budget, err = budget.New(budget.Config[string, bool]{Bad: func(bad bool) bool { return bad }, Bounds: bounds, Clock: s.clock})
	require.NoError(t, err)
	s.Allowance = New(s.budget.As("evictor"), pending, time.Second, time.Minute)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.nodes[name] = &Node{Name: name}
		s.budget.Set(name, false)
	}
	return s
}

func (s *story) ask(name string) (error, bool) { return s.Ask(s.nodes[name], s.clock.Now()) }

func (s *story) asked(name string) string {
	err, first := s.ask(name)
	switch {
	case err == nil && first:
		return "yes, and told"
	case err == nil:
		return "yes"
	case first:
		return "no: " + err.Error()
	}
	return "no"
}

func (s *story) note(name string, acted, turn bool) {
	s.Note(s.nodes[name], Is{Acted: acted, Turn: turn, Well: !acted && !turn}, s.clock.Now())
}

func (s *story) used(bound string) int64 {
	st, ok := s.budget.Status(bound, "")
	require.True(s.t, ok)
	return st.Used
}

var two = budget.Bound{Name: "two", Of: budget.Acting, Max: budget.Count(2)}

func TestATurnFromTheQuestionToTheEnd(t *testing.T) {
	s := tell(t, nil, two)
	s.note("a", false, false)
	s.note("a", false, true)
	require.Zero(t, s.used("two"), "nothing was asked")
	require.Equal(t, "yes", s.asked("a"))
	require.Equal(t, "yes", s.asked("a"), "it is reserved yet")
	require.EqualValues(t, 1, s.used("two"))
	s.note("a", false, true)
	require.EqualValues(t, 1, s.used("two"), "it has its turn")
	require.Equal(t, "yes", s.asked("b"))
	require.Equal(t, `no: budget "two" allows at most 2: 3 is too many`, s.asked("c"))
	require.Equal(t, "no", s.asked("c"), "told once")
	s.Unasked(s.nodes["c"])
	require.Equal(t, `no: budget "two" allows at most 2: 3 is too many`, s.asked("c"), "it waits anew")
	s.note("b", false, false)
	require.EqualValues(t, 1, s.used("two"), "its turn was for nothing")
	require.Equal(t, "yes", s.asked("c"))
	s.note("a", true, false)
	s.note("c", true, false)
	require.Equal(t, "yes", s.asked("c"), "it was acted on")
	require.EqualValues(t, 2, s.used("two"))
	require.Equal(t, `no: budget "two" allows at most 2: 3 is too many`, s.asked("b"))
	s.note("a", false, false)
	require.EqualValues(t, 1, s.used("two"), "it is back")
	require.Equal(t, "yes", s.asked("b"))
	s.note("b", false, false)
	require.Equal(t, "yes", s.asked("d"))
	require.Equal(t, `no: budget "two" allows at most 2: 3 is too many`, s.asked("b"), "it was allowed meanwhile")
	s.Forget(s.nodes["d"], s.clock.Now())
	require.EqualValues(t, 1, s.used("two"))
	s.note("b", true, false)
	s.note("b", false, false)
	require.Equal(t, "yes", s.asked("a"))
	require.Equal(t, `no: budget "two" allows at most 2: 3 is too many`, s.asked("b"), "it was acted on meanwhile")
	require.ErrorIs(t, first(s.ask("d")), budget.ErrUnknown)
}

func first(err error, _ bool) error { return err }

// A refusal is told again if another bound refuses, but not if only its figures have changed.
func TestWhoRefusesIsTold(t *testing.T) {
	s := tell(t, nil, two, budget.Bound{Name: "one is well", Of: budget.Healthy, Min: budget.Count(1)})
	s.note("a", true, false)
	s.note("b", true, false)
	require.Equal(t, `no: budget "two" allows at most 2: 3 is too many`, s.asked("c"))
	require.True(t, s.budget.Adopt("d", s.clock.Now()), "somebody else's")
	require.Equal(t, "no", s.asked("c"))
	s.budget.End("d")
	s.note("a", false, false)
	s.budget.Set("a", true)
	s.budget.Set("d", true)
	require.Equal(t, `no: budget "one is well" needs at least 1: 0 is too few`, s.asked("c"))
	s.budget.Set("a", false)
	require.Equal(t, "yes", s.asked("c"))
}

// What an earlier process acted on is adopted, since the time of its taint. What somebody else acts on is not ended.
func TestWhatWasActedOnBefore(t *testing.T) {
	s := tell(t, nil, two, budget.Bound{Name: "in a minute", Of: budget.Recent, Within: time.Minute, Max: budget.Count(3)})
	for _, name := range []string{"a", "d"} {
		s.nodes[name].Since = s.clock.Now().Add(-50 * time.Second)
		s.note(name, true, false)
	}
	s.note("b", true, false)
	require.EqualValues(t, 3, s.used("two"))
	s.clock.Step(10 * time.Second)
	require.EqualValues(t, 1, s.used("in a minute"), "the one without a time since it was seen")
	_, err := s.budget.Reserve("c")
	require.Error(t, err)
	s.note("b", false, false)
	s.note("d", false, false)
	theirs, err := s.budget.Reserve("c")
	require.NoError(t, err)
	s.note("c", true, false)
	s.note("c", false, false)
	require.True(t, theirs.Commit(), "it is theirs")
	require.ErrorIs(t, first(s.ask("c")), budget.ErrActing)
}

// What an evictor before reserved or began under our name counts until the node is acted on, is well, or is asked about.
func TestWhatIsInherited(t *testing.T) {
	s := tell(t, nil, two)
	before := s.budget.As("evictor")
	for _, name := range []string{"a", "b"} {
		_, err := before.Reserve(name)
		require.NoError(t, err)
	}
	s.note("a", false, true)
	require.EqualValues(t, 2, s.used("two"), "it is not well")
	require.Equal(t, "yes", s.asked("a"), "it need not wait for itself")
	require.Error(t, first(s.ask("c")))
	s.note("b", true, false)
	s.note("b", false, true)
	require.Equal(t, "yes", s.asked("c"), "b was taken over, and is over")
	before.Set("gone", false)
	s.budget.Set("theirs", false)
	s.ForgetOthers(func(node string) bool { return node == "a" }, s.clock.Now())
	require.Equal(t, 5, s.budget.Len(), "others told it about all but one")
}

func TestWhatBecomesOfWhatIsPending(t *testing.T) {
	answers := map[string]zone.Pending{"storm": zone.Wait}
	s := tell(t, func(r *budget.Refusal) zone.Pending { return answers[r.Bound] }, budget.Bound{Name: "storm", Of: budget.Bad, Max: budget.Count(1)})
	look := func() (text []string) {
		for _, r := range s.Look(s.clock.Now()) {
			text = append(text, fmt.Sprintf("%s: %s %v", r.Node, r.Pending, r.Exceeded))
		}
		slices.Sort(text)
		return text
	}
	s.note("b", true, false)
	s.note("a", true, false)
	require.Equal(t, []string{"a: GoOn <nil>", "b: GoOn <nil>"}, look())
	s.budget.Set("a", true)
	s.budget.Set("b", true)
	exceeded := `budget "storm" allows at most 1: 2 is too many`
	require.Equal(t, []string{"a: Wait " + exceeded, "b: Wait " + exceeded}, look())
	answers["storm"] = 77
	s.note("a", false, false)
	require.Equal(t, []string{"b: Wait " + exceeded}, look(), "what is no answer is Wait")
	answers["storm"] = zone.Cancel
	require.Equal(t, []string{"b: Cancel " + exceeded}, look())
	s.Forget(s.nodes["b"], s.clock.Now())
	require.Empty(t, look())
}

// While a node is acted on, Look is due again after the interval: whoever else acts on members tells nobody.
func TestLookIsDueAgainWhileANodeIsActedOn(t *testing.T) {
	s := tell(t, func(*budget.Refusal) zone.Pending { return zone.Wait }, budget.Bound{Name: "storm", Of: budget.Bad, Max: budget.Count(0)})
	s.Look(s.clock.Now())
	_, some := s.Next()
	require.False(t, some)
	s.note("a", true, false)
	s.Look(s.clock.Now())
	next, some := s.Next()
	require.True(t, some)
	require.Equal(t, s.clock.Now().Add(time.Second), next)
}

// Without a pending function evictions go on.
func TestNobodySaysWhatBecomesOfIt(t *testing.T) {
	s := tell(t, nil, budget.Bound{Name: "storm", Of: budget.Bad, Max: budget.Count(0)})
	s.note("a", true, false)
	s.budget.Set("a", true)
	require.Empty(t, s.Look(s.clock.Now()))
}

func TestWithoutABudgetAllIsAllowed(t *testing.T) {
	a, n := New(nil, nil, time.Second, time.Minute), &Node{Name: "a"}
	err, told := a.Ask(n, time.Time{})
	require.NoError(t, err)
	require.False(t, told)
	a.Note(n, Is{Acted: true, Turn: true}, time.Time{})
	a.ForgetOthers(nil, time.Time{})
	require.False(t, a.LookUnmatched())
	a.Forget(n, time.Time{})
	require.Empty(t, a.Look(time.Time{}))
	require.Equal(t, Node{Name: "a"}, *n)
}
