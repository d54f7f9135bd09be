package permit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/zone"
)

// TestEachChangeIsTold by itself, when it begins and when it ends.
func TestEachChangeIsTold(t *testing.T) {
	for name, row := range map[string]struct {
		begin, end  func(*Permits)
		began, over string
	}{
		"writes": {
			func(p *Permits) { _ = p.Answered(write, errNo, at(0)) }, func(p *Permits) { _ = p.Answered(write, nil, at(1)) },
			"writes are held back", "writes go on",
		},
		"harm": {
			func(p *Permits) { _ = p.Answered(harm, errNo, at(0)) }, func(p *Permits) { _ = p.Answered(harm, nil, at(1)) },
			"taints and evictions are held back", "taints and evictions go on",
		},
		"harm of one domain": {
			func(p *Permits) { _ = p.Answered(harmIn(a), errNo, at(0)) }, func(p *Permits) { _ = p.Answered(harmIn(a), nil, at(1)) },
			"taints and evictions are held back", "taints and evictions go on",
		},
		"a pause": {
			func(p *Permits) { p.Pause("x") }, func(p *Permits) { p.Resume("x") },
			"taints and evictions are held back", "taints and evictions go on",
		},
		"the observer": {
			func(p *Permits) { p.SetObserver(errNo) }, func(p *Permits) { p.SetObserver(nil) },
			"taints and evictions are held back", "taints and evictions go on",
		},
		"a policy": {
			func(p *Permits) { p.SetPending(a, zone.Wait) }, func(p *Permits) { p.SetPending(a, zone.GoOn) },
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
	_ = p.Answered(harmIn(a), errNo, at(0))
	require.Len(t, p.Changes(), 2)
	require.Zero(t, testing.AllocsPerRun(10, func() { p.Changes() }))
}

// TestPolicyIsOfItsDomain alone, and says nothing of what others may.
func TestPolicyIsOfItsDomain(t *testing.T) {
	p := New(0)
	require.NoError(t, p.Policy(a), "nothing was said of it")
	p.SetPending(a, zone.Wait)
	require.EqualError(t, p.Policy(a), "policy of zone r:a: Wait")
	require.NoError(t, p.Policy(b))
	_ = p.Answered(harmIn(b), errNo, at(0))
	require.NoError(t, p.Policy(b), "that is no policy's")
	require.Error(t, p.May(Own, a))
	require.NoError(t, p.May(Harm, a))
}
