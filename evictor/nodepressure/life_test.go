//go:build go1.25

package nodepressure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// life is a node whose memory comes and goes at random. Kills hang, fail, panic, and heed or ignore the end of their
// context, and measurements fail. Everything that the manager does is recorded with its time.
type life struct {
	began time.Time

	mu       sync.Mutex // guards what follows
	r        *rand.Rand
	pods     []Pod
	kills    []*lifeKill
	passes   []time.Duration
	reports  []lifeReport
	dead     map[string]time.Duration // when pods are cleaned up; 0 if alive
	faults   []string
	preempts int
}

// lifeKill is a call of Kill.
type lifeKill struct {
	pod        string
	hard       bool
	timeout    time.Duration
	ctx        context.Context
	begin, end time.Duration // end is negative while it runs
	stopped    time.Duration // when its context ended; negative if it did not
	fails      string        // the error that it returns
}

type lifeReport struct {
	at  time.Duration
	err error
}

func (l *life) passed() time.Duration { return time.Since(l.began) }

func (l *life) Stats(context.Context) (Stats, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passes = append(l.passes, l.passed())
	if l.r.Intn(20) == 0 {
		return Stats{}, errors.New("blind")
	}
	stats := Stats{Signals: map[Signal]Sample{MemoryAvailable: {Available: l.available(), Capacity: 1000}}}
	for _, pod := range l.pods {
		if l.dead[pod.Name] == 0 || l.passed() < l.dead[pod.Name] {
			stats.Pods = append(stats.Pods, pod)
		}
	}
	return stats, nil
}

// available changes every minute: plenty, short, or very short.
func (l *life) available() int64 {
	return []int64{1000, 150, 50, 1000, 150}[(int64(l.passed()/time.Minute)*7919+l.began.UnixNano()+int64(len(l.pods)))%5]
}

func (l *life) Reclaim(context.Context, Reclaim) error { return nil }

func (l *life) CleanedUp(pod *v1.Pod) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.dead[pod.Name]
	return at > 0 && l.passed() >= at
}

// begin records a Kill, and whether it was wrong.
func (l *life) begin(ctx context.Context, e Eviction) (k *lifeKill, d time.Duration, heeds bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.passed()
	k = &lifeKill{pod: e.Pod.Name, hard: e.Hard, ctx: ctx, begin: now, end: -1, stopped: -1, timeout: max(10, time.Duration(e.GracePeriodSeconds*3/2)) * time.Second}
	for _, other := range l.kills {
		switch running := other.end < 0; {
		case running && other.pod == k.pod:
			l.faults = append(l.faults, fmt.Sprintf("%s: %s is killed twice at once", now, k.pod))
		case running && other.ctx.Err() != nil:
			l.preempts++
		case running && now < other.begin+other.timeout:
			l.faults = append(l.faults, fmt.Sprintf("%s: %s is killed beside %s", now, k.pod, other.pod))
		}
	}
	l.kills = append(l.kills, k)
	k.fails = []string{"", "", "error", "panic", "goexit"}[l.r.Intn(5)]
	switch l.r.Intn(4) {
	case 0:
		d = 0
	case 1:
		d = time.Duration(l.r.Intn(10))*time.Second + 137*time.Millisecond
	default:
		d = time.Duration(l.r.Intn(200))*time.Second + 137*time.Millisecond
	}
	return k, d, l.r.Intn(3) > 0
}

func (l *life) Kill(ctx context.Context, e Eviction) error {
	k, d, heeds := l.begin(ctx, e)
	heeded := ctx.Done()
	if !heeds {
		heeded = nil
	}
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		k.stopped = l.passed()
	})
	defer stop()
	select {
	case <-heeded:
	case <-time.After(d):
	}
	l.mu.Lock()
	k.end = l.passed()
	l.dead[k.pod] = 0
	if k.fails == "" && ctx.Err() == nil {
		l.dead[k.pod] = k.end + time.Duration(1+l.r.Intn(40))*time.Second
	}
	l.mu.Unlock()
	switch k.fails {
	case "panic":
		panic("broken")
	case "goexit":
		runtime.Goexit()
	case "error":
		return errors.New("undead")
	}
	return nil
}

// play runs a manager for about half an hour.
func (l *life) play(t *testing.T) {
	l.began = time.Now()
	config := thresholds(softly(MemoryAvailable, "200", 20*time.Second), hardly(MemoryAvailable, "100"))
	config.MaxPodGracePeriodSeconds = int64(l.r.Intn(60))
	config.LocalStorageLimits = l.r.Intn(3) == 0
	for i := range 2 + l.r.Intn(5) {
		pod := build(fmt.Sprintf("pod-%d", i), int32(i), memoryUse("50"))
		if l.r.Intn(4) == 0 {
			diskUse("0", "0", "2Gi")(&pod)
			sized("1Gi", "")(&pod)
		}
		l.pods = append(l.pods, pod)
	}
	machine, err := New(config)
	require.NoError(t, err)
	managing := DefaultManagerConfig()
	managing.MonitoringPeriod = time.Duration(1+l.r.Intn(20)) * time.Second
	managing.OnError = func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reports = append(l.reports, lifeReport{l.passed(), err})
	}
	m, err := NewManager(machine, Clients{StatsProvider: l, Reclaimer: l, Killer: l}, managing)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	for range 10 {
		time.Sleep(time.Duration(100+l.random(100))*time.Second + 531*time.Millisecond)
		if l.random(2) == 0 {
			m.Notify()
		}
	}
	stop()
	ended := l.passed()
	require.ErrorIs(t, <-done, context.Canceled)
	synctest.Wait()
	l.check(t, managing, ended)
}

func (l *life) random(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Intn(n)
}

// check looks at the whole life, after Run has returned.
func (l *life) check(t *testing.T, managing ManagerConfig, ended time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Empty(t, l.faults)
	var want []string
	for _, k := range l.kills {
		require.GreaterOrEqual(t, k.end, time.Duration(0), "Run has waited for it")
		until := k.end
		if k.stopped >= 0 {
			until = min(until, k.stopped)
		}
		if k.begin+k.timeout < min(until, ended) {
			want = append(want, fmt.Sprintf("%s %s given up", k.begin+k.timeout, k.pod))
		}
		if k.fails != "" {
			want = append(want, fmt.Sprintf("%s %s failed", k.end, k.pod))
		}
	}
	var got []string
	for _, r := range l.reports {
		var failed *KillError
		if !errors.As(r.err, &failed) {
			require.ErrorContains(t, r.err, "blind")
			continue
		}
		what := "failed"
		if errors.Is(r.err, ErrKillTimeout) {
			what = "given up"
			if !l.running(failed.Eviction.Pod.Name, r.at) {
				continue // it was to be killed again, and the earlier Kill did not return
			}
		}
		got = append(got, fmt.Sprintf("%s %s %s", r.at, failed.Eviction.Pod.Name, what))
	}
	slices.Sort(want)
	slices.Sort(got)
	if missing, more := less(want, got), less(got, want); len(missing) > 0 || len(more) > 0 {
		t.Fatalf("not reported: %v, but: %v", missing, more)
	}
	for i := 1; i < len(l.passes); i++ {
		due := l.passes[i-1] + managing.MonitoringPeriod
		if late := l.passes[i] - due; late > 0 {
			require.LessOrEqual(t, late, managing.CleanupTimeout, "a pass at %s is late", l.passes[i])
			for _, k := range l.kills {
				require.False(t, k.begin < due && due < k.end, "no pass at %s, while %s is killed since %s until %s", due, k.pod, k.begin, k.end)
			}
		}
	}
}

// running says whether a Kill of the pod was running at that instant and not about to end.
func (l *life) running(pod string, at time.Duration) bool {
	return slices.ContainsFunc(l.kills, func(k *lifeKill) bool {
		return k.pod == pod && k.begin < at && at < k.end && (k.stopped < 0 || k.stopped > at) && k.begin+k.timeout == at
	})
}

// less returns a without the elements of b, counting duplicates.
func less(a, b []string) (rest []string) {
	b = slices.Clone(b)
	for _, line := range a {
		if i := slices.Index(b, line); i >= 0 {
			b = slices.Delete(b, i, i+1)
		} else {
			rest = append(rest, line)
		}
	}
	return rest
}

// TestLives: no pod is killed twice at the same time; each Kill that takes too long is given up in time; each failure
// is reported once; passes go on while a Kill has not returned; and Run leaves nothing behind.
func TestLives(t *testing.T) {
	var kills, givenUp, preempts, passes int
	for seed := range int64(max(200, operations(t)/1000)) {
		l := &life{r: rand.New(rand.NewSource(seed)), dead: map[string]time.Duration{}}
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { synctest.Test(t, l.play) }) {
			return
		}
		kills += len(l.kills)
		passes += len(l.passes)
		preempts += l.preempts
		for _, r := range l.reports {
			if strings.Contains(r.err.Error(), ErrKillTimeout.Error()) {
				givenUp++
			}
		}
	}
	t.Logf("%d kills, %d given up, %d beside one that was to end, %d passes", kills, givenUp, preempts, passes)
	require.Greater(t, min(kills, givenUp, passes), 500)
	require.Greater(t, preempts, 5)
}
