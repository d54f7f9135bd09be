package clusterapi

import (
	"flag"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinehealthcheck"
	"sigs.k8s.io/cluster-api/util/conditions"
)

var (
	from = flag.Uint64("from", 0, "the first seed")
	most = flag.Uint64("rounds", 0, "how many random clusters are played: 100 when 0, with EVICTKIT_FULL 1,000")
)

func rounds() uint64 {
	switch {
	case *most > 0:
		return *most
	case os.Getenv("EVICTKIT_FULL") != "":
		return 1_000
	}
	return 100
}

// figures are what was compared.
type figures struct {
	looks, remediated, refused, allowed, agains, clocks, waits int
}

// TestSameRemediations plays random clusters on both. If clocks are wrong, or a wait for a node begins earlier than it
// did before, the two may differ as DIFFERENCES.md says, and the world continues as Cluster API decided.
func TestSameRemediations(t *testing.T) {
	var f figures
	r := newReconciler(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second / 2) // timestamps are full seconds, so nothing is due at the instant of a look
		for seed := range rounds() {
			play(t, r, *from+seed, &f)
		}
	})
	t.Logf("seeds %d to %d: %d looks at a cluster, %d of which allow remediation; %d machines remediated and %d refused by both; "+
		"%d times both say when to look again; %d differ by a wrong clock, %d by a wait",
		*from, *from+rounds()-1, f.looks, f.allowed, f.remediated, f.refused, f.agains, f.clocks, f.waits)
	for _, n := range []int{f.looks - f.allowed, f.remediated, f.refused, f.allowed, f.agains, f.clocks} {
		require.Positive(t, n)
	}
}

func play(t *testing.T, r *machinehealthcheck.Reconciler, seed uint64, f *figures) {
	w := newWorld(seed)
	c, o := newTheirs(t, r, w.check), newOurs(t, w.check)
	for _, m := range w.machines {
		c.write(m)
		o.look(m)
	}
	told := slices.Clone(w.machines)
	for step := range 6 {
		w.looked = time.Now()
		time.Sleep(time.Duration(30+w.IntN(600)) * time.Second)
		for _, m := range w.pass() {
			c.write(m)
			if m.waiting && w.oneIn(3) {
				c.remediated(m)
				m.waiting = false
			}
		}
		w.machines = slices.DeleteFunc(w.machines, func(m *machine) bool {
			gone := (m.waiting || m.deleting) && w.oneIn(2) || w.oneIn(40)
			if gone {
				c.leave(m)
			}
			return gone
		})
		for _, m := range w.come(w.IntN(3)) {
			c.write(m)
		}
		now := w.selected()
		for _, m := range told {
			if !slices.Contains(now, m) {
				o.leave(m)
			}
		}
		told = now
		w.compare(t, seed, step, c, o, now, f)
	}
}

// compare asks both about all machines. The world continues as Cluster API decided.
func (w *world) compare(t *testing.T, seed uint64, step int, c *theirs, o *ours, machines []*machine, f *figures) {
	wrong, least := false, time.Duration(0)
	for _, m := range machines {
		_, left := o.look(m)
		if wrong = wrong || m.wrong || m.back; left > 0 && !m.skipped() && (least == 0 || left < least) {
			least = left
		}
	}
	again, check := c.reconcile(w.check)
	allowed := conditions.IsTrue(&check, clusterv1.MachineHealthCheckRemediationAllowedCondition)
	ours, ok := o.budget.Status(boundName, "")
	if len(machines) > 0 {
		require.True(t, ok)
		expected := int64(*check.Status.ExpectedMachines)
		require.Equal(t, []int64{expected, expected - int64(*check.Status.CurrentHealthy)}, []int64{ours.Total, ours.Used}, "seed %d, step %d", seed, step)
	}
	f.looks++
	if allowed {
		f.allowed++
	}
	for _, m := range machines {
		remediated := !m.waiting && c.waits(m)
		reservation, err := o.budget.Reserve(m.Name)
		switch unhealthy, _ := o.look(m); {
		case remediated == (err == nil):
			if remediated {
				f.remediated++
			} else if unhealthy && !allowed {
				f.refused++
			}
		case m.wrong:
			f.clocks++
		case m.back:
			f.waits++
		default:
			require.Fail(t, "they differ", "seed %d, step %d, %s under %+v: theirs: remediated %t; ours: %v",
				seed, step, m.Name, w.check.Spec, remediated, err)
		}
		switch {
		case err != nil:
		case remediated:
			require.True(t, reservation.Commit())
			require.True(t, reservation.End(), "the world knows who waits")
		default:
			require.True(t, reservation.GiveBack())
		}
		m.waiting = c.waits(m)
	}
	const later = time.Second // Cluster API looks this long after something is due
	switch {
	case !allowed || wrong:
	case least > 0:
		f.agains++
		require.Equal(t, least+later, again, "seed %d, step %d", seed, step)
	default:
		require.Zero(t, again, "seed %d, step %d", seed, step)
	}
}
