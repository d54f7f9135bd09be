package pressure

import (
	"context"
	"errors"
	"math/rand"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// ours plays a series on our manager.
type ours struct {
	series *series
	stop   context.CancelFunc

	mu      sync.Mutex // guards what follows
	passes  []pass
	again   bool // the next sample is the one after reclaiming
	polls   int
	kills   int // kills that have not returned
	givenUp int
}

func playOurs(t *testing.T, s *series) (passes []pass, givenUp int) {
	machine, err := nodepressure.New(s.config)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	o := &ours{series: s, stop: stop}
	config := nodepressure.DefaultManagerConfig()
	config.MonitoringPeriod = s.period
	config.OnError = func(err error) {
		if errors.Is(err, nodepressure.ErrKillTimeout) {
			o.givenUp++
		}
	}
	manager, err := nodepressure.NewManager(machine, nodepressure.Clients{StatsProvider: o, Reclaimer: o, Killer: o}, config)
	require.NoError(t, err)
	require.ErrorIs(t, manager.Run(ctx), context.Canceled)
	return o.passes, o.givenUp
}

func (o *ours) step() step { return o.series.steps[len(o.passes)-1] }
func (o *ours) now() *pass { return &o.passes[len(o.passes)-1] }

func (o *ours) Stats(context.Context) (nodepressure.Stats, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.kills > 0 && !o.again && o.now().killed != nil && o.now().killed[0].seconds == 1 && o.step().hang < time.Hour {
		return nodepressure.Stats{}, errMade // the kubelet does not make this pass
	}
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
	o.mu.Lock()
	defer o.mu.Unlock()
	o.again = true
	o.now().reclaimed = append(o.now().reclaimed, what)
	if o.step().reclaimFails {
		return errMade
	}
	return nil
}

func (o *ours) Kill(_ context.Context, e nodepressure.Eviction) error {
	o.mu.Lock()
	o.now().killed = append(o.now().killed, killOf(e, time.Now(), true))
	o.polls = 0
	o.kills++
	hang := o.step().hang
	o.mu.Unlock()
	time.Sleep(hang)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kills--
	return nil
}

func (o *ours) CleanedUp(*v1.Pod) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.polls++
	return o.polls > o.step().polls
}

// done is what was done in a pass, and when, without what was reported.
type done struct {
	after     time.Duration
	reclaimed []nodepressure.Reclaim
	killed    []kill
}

func did(passes []pass) (result []done) {
	for _, p := range passes {
		// All bubbles begin at the same instant.
		result = append(result, done{p.at.Sub(passes[0].at), p.reclaimed, p.killed})
	}
	return result
}

// slow makes the kills of every second step take time. Some take less than the timeout of a hard kill, some more, but
// then no longer than the cleanup after it, because the kubelet would choose a pod again that is still being killed.
// The last kill of a pass never ends at the instant of our next pass, because the order of the two would be random.
func slow(s *series, seed int64) {
	const odd = 437 * time.Millisecond
	r := rand.New(rand.NewSource(seed))
	for i := range s.steps {
		step := &s.steps[i]
		switch r.Intn(4) {
		case 0:
			step.hang = time.Duration(r.Intn(10))*time.Second + odd
		case 1:
			if most := min(step.polls, 29); most > 0 {
				step.hang = time.Duration(10+r.Intn(most))*time.Second + odd
			}
		}
	}
}

// TestManagers: as long as both decide the same, both loops pass, kill, give up and wait at the same instants. That
// holds until a soft eviction is in progress; then ours goes on making passes.
func TestManagers(t *testing.T) {
	compared, kills, preempts, givenUp := 0, 0, 0, 0
	for seed := range int64(1200) {
		s := newSeries(seed)
		slow(s, seed)
		kubelets := bubbled(t, s)
		differs, err := replayed(s, kubelets, acts...)
		require.NoError(t, err)
		if len(differs) > 0 {
			continue
		}
		var mine []pass
		synctest.Test(t, func(t *testing.T) {
			var n int
			mine, n = playOurs(t, s)
			givenUp += n
		})
		want, got := did(kubelets), did(mine)
		end := len(want)
		for i, d := range want {
			kills += len(d.killed)
			if len(d.killed) > 0 && d.killed[0].seconds != 1 { // the grace period of a hard eviction, and of no soft one
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
	t.Logf("%d passes, %d kills, %d given up, %s: %d", compared, kills, givenUp, HardPreempts.Name, preempts)
	require.Greater(t, compared, 1000)
	require.Greater(t, kills, 100)
	require.Greater(t, givenUp, 50)
	require.Positive(t, preempts, HardPreempts.Name)
}

// TestHangingPods: of pods that never die, the kubelet kills the same one again and again; ours kills each once.
func TestHangingPods(t *testing.T) {
	fired := 0
	for seed := range int64(300) {
		s := newSeries(seed)
		for i := range s.steps {
			s.steps[i].hang = 24 * time.Hour
		}
		again := twice(bubbled(t, s))
		var mine []pass
		synctest.Test(t, func(t *testing.T) { mine, _ = playOurs(t, s) })
		require.False(t, twice(mine), "seed %d", seed)
		if again {
			fired++
		}
	}
	t.Logf("%s: %d", PassedOver.Name, fired)
	require.Positive(t, fired, PassedOver.Name)
}

// twice says whether a pod was killed more than once.
func twice(passes []pass) bool {
	known := map[string]bool{}
	for _, p := range passes {
		for _, k := range p.killed {
			if known[k.pod] {
				return true
			}
			known[k.pod] = true
		}
	}
	return false
}
