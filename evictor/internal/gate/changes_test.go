package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/zone"
)

// TestEachChangeIsTold by itself, when it begins and when it ends.
func TestEachChangeIsTold(t *testing.T) {
	for name, row := range map[string]struct {
		begin, end  func(*Gates)
		began, over string
	}{
		"writes": {
			func(p *Gates) { _ = p.Answered(write, errNo, at(0)) }, func(p *Gates) { _ = p.Answered(write, nil, at(1)) },
			"writes are held back", "writes go on",
		},
		"harm": {
			func(p *Gates) { _ = p.Answered(harm, errNo, at(0)) }, func(p *Gates) { _ = p.Answered(harm, nil, at(1)) },
			"taints and evictions are held back", "taints and evictions go on",
		},
		"harm of one domain": {
			func(p *Gates) { _ = p.Answered(In(Harm, a), In(Harm, a).Named(errNo), at(0)) }, func(p *Gates) { _ = p.Answered(In(Harm, a), nil, at(1)) },
			"taints and evictions are held back", "taints and evictions go on",
		},
		"a pause": {
			func(p *Gates) { p.Pause("x") }, func(p *Gates) { p.Resume("x") },
			"taints and evictions are held back", "taints and evictions go on",
		},
		"the observer": {
			func(p *Gates) { p.SetObserver(Blind(errNo)) }, func(p *Gates) { p.SetObserver(nil) },
			"taints and evictions are held back", "taints and evictions go on",
		},
		"a budget": {
			func(p *Gates) { p.Exceed("n", zone.Wait, errNo) }, func(p *Gates) { p.Exceed("n", zone.GoOn, nil) },
			"evictions by our own taints wait", "evictions by our own taints go on",
		},
		"a policy": {
			func(p *Gates) { p.Rule(a, zone.Wait) }, func(p *Gates) { p.Rule(a, zone.GoOn) },
			"evictions by our own taints wait", "evictions by our own taints go on",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(0)
			require.Empty(t, p.Changes())
			row.begin(p)
			changes := p.Changes()
			require.Len(t, changes, 1)
			require.Equal(t, row.began, changes[0].Text)
			require.Error(t, changes[0].Err)
			require.Empty(t, p.Changes(), "once")
			row.end(p)
			changes = p.Changes()
			require.Len(t, changes, 1)
			require.Equal(t, row.over, changes[0].Text)
			require.NoError(t, changes[0].Err)
			require.Empty(t, p.Changes())
		})
	}
}

// TestNothingNewCostsNothing: every Step asks, whatever is in force.
func TestNothingNewCostsNothing(t *testing.T) {
	p := New(0)
	p.Pause("x")
	_ = p.Answered(In(Harm, a), In(Harm, a).Named(errNo), at(0))
	require.Len(t, p.Changes(), 2)
	require.Zero(t, testing.AllocsPerRun(10, func() { p.Changes() }))
}

// TestRulingIsOfItsPlace alone, and says nothing of what others may.
func TestRulingIsOfItsPlace(t *testing.T) {
	p := New(0)
	p.Rule(a, zone.Wait)
	require.EqualError(t, p.May(Own, a, "n"), "policy of zone r:a: Wait")
	require.NoError(t, p.May(Own, b, "n"))
	require.NoError(t, p.May(Harm, a, "n"))
	p.Exceed("m", zone.Cancel, errNo)
	require.Equal(t, errNo, p.May(Own, b, "m"))
	require.Equal(t, zone.Cancel, p.Pending(a, "m"), "the stricter")
	require.Equal(t, zone.Wait, p.Pending(a, "n"))
	require.NoError(t, p.May(Harm, b, "m"))
	require.Len(t, p.Changes(), 2)
	p.Exceed("m", zone.Cancel, errOther)
	require.Empty(t, p.Changes(), "its figures are no news")
	require.Equal(t, errOther, p.May(Own, b, "m"))
	p.Exceed("m", zone.GoOn, nil)
	require.NoError(t, p.May(Own, b, "m"))
	require.Equal(t, []Change{{Gate: Gate{Class: Own, Node: "m"}, Text: "evictions by our own taints go on"}}, p.Changes())
	p.Exceed("m", zone.Wait, errNo)
	p.Forget("m")
	require.Empty(t, p.Changes(), "nothing is told of a node that is forgotten")
	require.NoError(t, p.May(Own, b, "m"))
}
