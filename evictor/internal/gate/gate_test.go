package gate

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/zone"
)

var (
	a, b  = zone.Key{Region: "r", Zone: "a"}, zone.Key{Region: "r", Zone: "b"}
	errNo = errors.New("no")

	errOther = errors.New("still no")
)

func at(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The strictest answer wins: what stops all, then what stops the domain, then what its policy says, which reaches only what our own
// taints ask for.
func TestStrictestAnswerWins(t *testing.T) {
	pause := func(p *Gates) { p.Pause("upgrade"); p.Pause("audit") }
	blind := func(p *Gates) { p.SetObserver(Blind(errNo)) }
	refuse := func(p *Gates) { _ = p.Answered(harm, errNo, at(0)) }
	refuseA := func(p *Gates) { _ = p.Answered(In(Harm, a), In(Harm, a).Named(errNo), at(0)) }
	waitA := func(p *Gates) { p.Rule(a, zone.Wait) }
	cancelA := func(p *Gates) { p.Rule(a, zone.Cancel) }
	for name, row := range map[string]struct {
		do                 []func(*Gates)
		harmA, ownA, harmB string
	}{
		"nothing was said":                {nil, "", "", ""},
		"all is paused":                   {[]func(*Gates){waitA, refuseA, refuse, blind, pause}, "paused: upgrade", "paused: upgrade", "paused: upgrade"},
		"the observer does not see":       {[]func(*Gates){waitA, refuseA, refuse, blind}, "observer is not healthy: no", "observer is not healthy: no", "observer is not healthy: no"},
		"the program says no":             {[]func(*Gates){waitA, refuseA, refuse}, "no", "no", "no"},
		"the program says no of it":       {[]func(*Gates){waitA, refuseA}, "zone r:a: no", "zone r:a: no", ""},
		"its policy waits":                {[]func(*Gates){waitA}, "", "policy of zone r:a: Wait", ""},
		"its policy cancels":              {[]func(*Gates){cancelA}, "", "policy of zone r:a: Cancel", ""},
		"writes are another matter":       {[]func(*Gates){func(p *Gates) { _ = p.Answered(write, errNo, at(0)) }}, "", "", ""},
		"its policy has changed its mind": {[]func(*Gates){cancelA, func(p *Gates) { p.Rule(a, zone.GoOn) }}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(time.Second)
			for _, do := range row.do {
				do(p)
			}
			require.Equal(t, row.harmA, text(p.May(Harm, a, "n")))
			require.Equal(t, row.ownA, text(p.May(Own, a, "n")))
			require.Equal(t, row.harmB, text(p.May(Harm, b, "n")))
			require.Equal(t, row.harmB, text(p.May(Own, b, "n")))
			require.Equal(t, name == "its policy cancels", p.Pending(a, "n") == zone.Cancel)
			require.Equal(t, zone.GoOn, p.Pending(b, "n"))
		})
	}
	p := New(time.Second)
	require.NoError(t, p.May(Write, a, "n"))
	_ = p.Answered(write, errNo, at(0))
	require.ErrorIs(t, p.May(Write, b, "n"), errNo)
	pause(p)
	require.ErrorIs(t, p.May(Harm, a, "n"), ErrPaused)
	_ = p.Resume("upgrade")
	refuseA(p)
	require.ErrorIs(t, p.Refusal(In(Harm, a)), errNo)
	require.NoError(t, p.Refusal(In(Harm, b)))
	require.Equal(t, "nodes without a zone", Name(zone.Key{}))
}

// Reasons add up, oldest first, each once; what was not given ends nothing.
func TestPauses(t *testing.T) {
	p := New(time.Second)
	require.False(t, p.Resume("x"))
	for _, reason := range []string{"x", "y", "x"} {
		p.Pause(reason)
	}
	require.Equal(t, []string{"x", "y"}, p.Paused())
	p.Paused()[0] = "changed"
	require.True(t, p.Resume("x"))
	require.Equal(t, []string{"y"}, p.Paused())
}

// A refusal is left alone for its interval, an open class is asked about every time, and what something else refuses is not
// asked at all.
func TestWhenToAsk(t *testing.T) {
	known := func(p *Gates, q Gate, now float64, want string, is bool) {
		t.Helper()
		err, known := p.Recall(q, at(now))
		require.Equal(t, want, text(err))
		require.Equal(t, is, known)
	}
	for _, q := range []Gate{write, harm, In(Harm, a)} {
		p := New(10 * time.Second)
		says := "no"
		if q.In {
			says = "zone r:a: no"
		}
		known(p, q, 0, "", false)
		require.NoError(t, p.Answered(q, nil, at(0)))
		known(p, q, 0, "", false)
		_, ok := p.Next()
		require.False(t, ok)
		require.EqualError(t, p.Answered(q, q.Named(errNo), at(1)), says)
		known(p, q, 1, says, true)
		known(p, q, 10.9, says, true)
		known(p, q, 11, "", false)
		next, ok := p.Next()
		require.True(t, ok)
		require.Equal(t, at(11), next)
		require.Equal(t, q.In, len(p.Refused(at(11))) == 1)
		require.Empty(t, p.Refused(at(10)))
		p.Expire()
		known(p, q, 2, "", false)
		require.Equal(t, q.In, len(p.Refused(at(2))) == 1)
		require.Error(t, p.May(q.Class, a, "n"), "until it is answered")
		require.NoError(t, p.Answered(q, nil, at(2)))
		require.NoError(t, p.May(q.Class, a, "n"))
		_, ok = p.Next()
		require.False(t, ok)
	}
	p := New(10 * time.Second)
	_ = p.Answered(harm, errNo, at(3))
	_ = p.Answered(In(Harm, a), In(Harm, a).Named(errNo), at(2))
	_ = p.Answered(In(Harm, b), In(Harm, b).Named(errNo), at(1))
	_ = p.Answered(write, errNo, at(5))
	next := func() time.Time {
		next, _ := p.Next()
		return next
	}
	require.Equal(t, at(13), next(), "that of all comes before those of domains")
	p.Pause("x")
	known(p, harm, 3, "paused: x", true)
	require.Equal(t, at(15), next(), "of writes")
	_ = p.Resume("x")
	p.SetObserver(Blind(errNo))
	known(p, harm, 99, "observer is not healthy: no", true)
	require.Equal(t, at(15), next())
	require.ErrorIs(t, p.SetObserver(nil), errNo)
	require.NoError(t, p.Observer())
	_ = p.Answered(harm, nil, at(4))
	require.Equal(t, at(11), next())
	require.Equal(t, []zone.Key{a, b}, p.Refused(at(12)))
}

// What changed is told once, all domains together first, and what came and went between two calls is not.
func TestChanges(t *testing.T) {
	p := New(time.Second)
	told := func() (lines []string) {
		for _, c := range p.Changes() {
			line := c.Domain.Zone + ": " + c.Text
			if !c.In {
				line = "all" + line
			}
			if c.Err != nil {
				line += ", " + c.Err.Error()
			}
			if c.Class == Own {
				line += " (" + c.Pending.String() + ")"
			}
			lines = append(lines, line)
		}
		return lines
	}
	require.Empty(t, told())
	p.Pause("x")
	_ = p.Answered(In(Harm, b), In(Harm, b).Named(errNo), at(0))
	p.Rule(a, zone.Wait)
	_ = p.Answered(write, errNo, at(0))
	require.Equal(t, []string{
		"all: writes are held back, no", "all: taints and evictions are held back, paused: x",
		"a: evictions by our own taints wait, policy of zone r:a: Wait (Wait)", "b: taints and evictions are held back, zone r:b: no",
	}, told())
	p.SetObserver(Blind(errNo))
	_ = p.Resume("x")
	require.Empty(t, told(), "it is refused still")
	p.Rule(a, zone.Cancel)
	_ = p.Answered(In(Harm, a), In(Harm, a).Named(errNo), at(0))
	p.SetObserver(nil)
	_ = p.Answered(write, nil, at(0))
	require.Equal(t, []string{
		"all: writes go on", "all: taints and evictions go on", "a: taints and evictions are held back, zone r:a: no",
		"a: our own taints and evictions by them are given up, policy of zone r:a: Cancel (Cancel)",
	}, told())
	_ = p.Answered(In(Harm, a), nil, at(0))
	_ = p.Answered(In(Harm, a), In(Harm, a).Named(errNo), at(0))
	require.Empty(t, told())
	_ = p.Answered(In(Harm, b), nil, at(0))
	_ = p.Answered(In(Harm, a), nil, at(0))
	p.Rule(a, zone.GoOn)
	require.Equal(t, []string{"a: taints and evictions go on", "a: evictions by our own taints go on (GoOn)", "b: taints and evictions go on"}, told())
	require.Empty(t, told())
	require.Empty(t, p.known, "nothing is kept of a domain of which nothing is said")
	p.Rule(a, zone.GoOn)
	_ = p.Answered(In(Harm, a), nil, at(0))
	require.Empty(t, p.known)
}

// Who waits is freed by the class and in the domain that he waits for, once.
func TestFreed(t *testing.T) {
	p := New(time.Second)
	p.Pause("x")
	_ = p.Answered(In(Harm, b), In(Harm, b).Named(errNo), at(0))
	p.Rule(a, zone.Wait)
	_ = p.Answered(write, errNo, at(0))
	p.Wait(Harm, a, "a-1")
	p.Wait(Harm, a, "a-1")
	p.Wait(Harm, a, "a-0")
	p.Wait(Own, a, "a-0")
	p.Wait(Harm, b, "b-0")
	p.Wait(Write, b, "b-0")
	p.Wait(Write, a, "a-1")
	require.Empty(t, p.Freed())
	_ = p.Resume("x")
	require.Equal(t, []string{"a-0", "a-1"}, p.Freed())
	require.Empty(t, p.Freed())
	_ = p.Answered(write, nil, at(0))
	_ = p.Answered(In(Harm, b), nil, at(0))
	require.Equal(t, []string{"a-1", "b-0"}, p.Freed())
	p.Rule(a, zone.Cancel)
	require.Empty(t, p.Freed())
	p.Wait(Write, a, "a-0")
	require.True(t, p.Unwait("a-0"))
	require.False(t, p.Unwait("a-0"))
	p.Rule(a, zone.GoOn)
	require.Empty(t, p.Freed())
	require.Empty(t, p.waiting)
}

// The index says the same as looking at everybody.
func TestFreedAgainstAModel(t *testing.T) {
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		p := New(time.Second)
		type wait struct {
			class Class
			key   zone.Key
			node  string
		}
		model := map[wait]bool{}
		keys := []zone.Key{a, b, {}}
		for range 200 {
			key, reason := keys[r.Intn(3)], []string{"x", "y"}[r.Intn(2)]
			var err error
			if r.Intn(2) == 0 {
				err = errNo
			}
			switch r.Intn(11) {
			case 0:
				p.Pause(reason)
			case 1:
				p.Resume(reason)
			case 2, 3, 4:
				p.Rule(key, zone.Pending(r.Intn(3)))
			case 5:
				_ = p.Answered([]Gate{write, harm, In(Harm, key)}[r.Intn(3)], err, at(0))
			case 6:
				p.SetObserver(err)
			case 7:
				node := fmt.Sprint("n", r.Intn(5))
				want := false
				for w := range model {
					if w.node == node {
						want = true
						delete(model, w)
					}
				}
				require.Equal(t, want, p.Unwait(node))
			case 8:
				p.Changes()
			case 9:
				if node := fmt.Sprint("n", r.Intn(5)); r.Intn(4) == 0 {
					p.Forget(node)
				} else {
					p.Exceed(node, zone.Pending(r.Intn(3)), errOther)
				}
			default:
				w := wait{Class(1 + r.Intn(3)), key, fmt.Sprint("n", r.Intn(5))}
				p.Wait(w.class, w.key, w.node)
				model[w] = true
			}
			if r.Intn(3) > 0 {
				continue
			}
			want := map[string]bool{}
			for w := range model {
				if p.May(w.class, w.key, w.node) == nil {
					want[w.node] = true
					delete(model, w)
				}
			}
			require.Equal(t, slices.Sorted(maps.Keys(want)), p.Freed())
		}
	}
}
