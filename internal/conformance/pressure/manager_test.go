package pressure

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// ours plays a series on our manager. The manager calls it from one goroutine at a time.
type ours struct {
	series *series
	passes []pass
	again  bool // the next sample is the one after reclaiming
	polls  int
	stop   context.CancelFunc
}

func playOurs(t *testing.T, s *series) []pass {
	machine, err := nodepressure.New(s.config)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	o := &ours{series: s, stop: stop}
	config := nodepressure.DefaultManagerConfig()
	config.MonitoringPeriod = s.period
	manager, err := nodepressure.NewManager(machine, nodepressure.Clients{StatsProvider: o, Reclaimer: o, Killer: o}, config)
	require.NoError(t, err)
	require.ErrorIs(t, manager.Run(ctx), context.Canceled)
	return o.passes
}

func (o *ours) step() step { return o.series.steps[len(o.passes)-1] }
func (o *ours) now() *pass { return &o.passes[len(o.passes)-1] }

func (o *ours) Stats(context.Context) (nodepressure.Stats, error) {
	again := o.again
	o.again = false
	if again {
		if o.step().afterFailed {
			return nodepressure.Stats{}, errMade
		}
		return o.step().after, nil
	}
	if len(o.passes) == len(o.series.steps) {
		o.stop()
		return nodepressure.Stats{}, errMade
	}
	o.passes = append(o.passes, pass{at: time.Now()})
	if o.step().failed {
		return nodepressure.Stats{}, errMade
	}
	return o.step().stats, nil
}

func (o *ours) Reclaim(_ context.Context, what nodepressure.Reclaim) error {
	o.again = true
	o.now().reclaimed = append(o.now().reclaimed, what)
	if o.step().reclaimFails {
		return errMade
	}
	return nil
}

func (o *ours) Kill(_ context.Context, e nodepressure.Eviction) error {
	o.now().killed = append(o.now().killed, killOf(e, time.Now(), true))
	o.polls = 0
	return nil
}

func (o *ours) CleanedUp(*v1.Pod) bool {
	o.polls++
	return o.polls > o.step().polls
}

// done is what was done in a pass and when, without what is said.
type done struct {
	after     time.Duration
	reclaimed []nodepressure.Reclaim
	killed    []kill
}

func did(passes []pass) (result []done) {
	for _, p := range passes {
		// Bubbles begin at the same instant.
		result = append(result, done{p.at.Sub(passes[0].at), p.reclaimed, p.killed})
	}
	return result
}

// TestManagers: where both decide the same, both loops pass, kill and wait at the same instants, until a soft eviction
// is in progress. Then ours goes on to pass.
func TestManagers(t *testing.T) {
	compared, kills, preempts := 0, 0, 0
	for seed := range int64(1200) {
		s, kubelets := played(t, seed)
		differs, err := replayed(s, kubelets, acts...)
		require.NoError(t, err)
		if len(differs) > 0 {
			continue
		}
		var mine []pass
		synctest.Test(t, func(t *testing.T) { mine = playOurs(t, s) })
		want, got := did(kubelets), did(mine)
		end := len(want)
		for i, d := range want {
			kills += len(d.killed)
			if len(d.killed) > 0 && d.killed[0].seconds != 1 { // that of a hard one, and of none that is soft
				end = i + 1
				break
			}
		}
		require.Equal(t, want[:end], got[:min(end, len(got))], "seed %d", seed)
		compared += end
		if !reflect.DeepEqual(want, got) {
			preempts++
		}
	}
	t.Logf("%d passes, %d kills, %s: %d", compared, kills, HardPreempts.Name, preempts)
	require.Greater(t, compared, 1000)
	require.Greater(t, kills, 100)
	require.Positive(t, preempts, HardPreempts.Name)
}
