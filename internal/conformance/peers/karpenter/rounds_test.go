package karpenter

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// rounds is the number of random clusters. With EVICTKIT_FULL it is the full number, which takes minutes.
func rounds() uint64 {
	if os.Getenv("EVICTKIT_FULL") != "" {
		return 5_000
	}
	return 100
}

// figures are what was compared.
type figures struct {
	looks, repaired, refused, waited, clocks, labels int
}

// TestSameRepairs plays random clusters on both. If clocks are wrong, or a node lacks its pool's label, the two may
// differ as DIFFERENCES.md says, and the world continues as Karpenter decided.
func TestSameRepairs(t *testing.T) {
	var f figures
	for seed := range rounds() {
		play(t, seed, &f)
	}
	t.Logf("seeds 0 to %d: %d looks at a node; %d repaired and %d refused by both, %d told when to ask again by both; "+
		"%d differ by a wrong clock, %d by a missing label", rounds()-1, f.looks, f.repaired, f.refused, f.waited, f.clocks, f.labels)
	for _, n := range []int{f.repaired, f.refused, f.waited, f.clocks, f.labels} {
		require.Positive(t, n)
	}
}

func play(t *testing.T, seed uint64, f *figures) {
	w := newWorld(seed)
	k, o := newTheirs(t, w.policies, w.clock), newOurs(t, w.policies, w.clock)
	for _, m := range w.machines {
		k.come(m)
		o.look(m)
	}
	for step := range 6 {
		for _, m := range w.pass() {
			k.report(m)
		}
		w.machines = slices.DeleteFunc(w.machines, func(m *machine) bool {
			gone := m.repairing && w.oneIn(2) || w.oneIn(40)
			if gone {
				k.leave(m)
				o.leave(m)
			}
			return gone
		})
		for _, m := range w.come(w.IntN(3)) {
			k.come(m)
		}
		left := make([]time.Duration, len(w.machines))
		for i, m := range w.machines {
			left[i] = o.look(m)
		}
		answers := k.reconcile(w.machines)
		for i, m := range w.machines {
			w.compare(t, seed, step, answers[i], o, m, left[i], f)
		}
	}
}

// compare asks both about one machine. The world continues as Karpenter decided.
func (w *world) compare(t *testing.T, seed uint64, step int, theirs answer, o *ours, m *machine, left time.Duration, f *figures) {
	repaired, again := theirs.repaired, theirs.again
	reservation, err := o.budget.Reserve(m.node.Name)
	f.looks++
	const refused = 5 * time.Minute // Karpenter waits this long when its breaker refuses
	same := (err == nil) == repaired && (again == left || left == 0 && again == refused && err != nil)
	switch {
	case same && repaired:
		f.repaired++
	case same && left > 0:
		f.waited++
	case same && again == refused:
		f.refused++
	case same:
	case w.wrongClock(m):
		f.clocks++
	case w.missingLabel(m):
		f.labels++
	default:
		require.Fail(t, "they differ", "seed %d, step %d, %s of pool %q: theirs: repaired %t, again in %s; ours: %v, to wait %s",
			seed, step, m.node.Name, m.pool, repaired, again, err, left)
	}
	switch {
	case repaired && err == nil:
		require.True(t, reservation.Commit())
	case err == nil:
		require.True(t, reservation.GiveBack())
	}
	m.repairing = m.repairing || repaired
}

// wrongClock says whether a condition in the policy has a timestamp that differs from the time of its change.
func (w *world) wrongClock(m *machine) bool {
	for _, p := range w.policies {
		for _, c := range m.node.Status.Conditions {
			if c.Type == p.ConditionType && c.Status == p.ConditionStatus && m.wrong[c.Type] {
				return true
			}
		}
	}
	return false
}

// missingLabel says whether a node of the machine's pool lacks the label.
func (w *world) missingLabel(m *machine) bool {
	return slices.ContainsFunc(w.machines, func(other *machine) bool {
		return other.pool == m.pool && other.node.Labels[v1.NodePoolLabelKey] != other.pool
	})
}
