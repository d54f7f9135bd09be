package timedworker

import (
	"context"
	"math/rand"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func names(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = "namespace/pod-" + strconv.Itoa(i)
	}
	rand.New(rand.NewSource(1)).Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

func allocated() (live, total int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.TotalAlloc)
}

// Very many keys come and go, in every possible way. One stays.
func TestMemoryFollowsTheKeys(t *testing.T) {
	const n = 100_000
	keys := names(n)
	for name, empty := range map[string]func(*testing.T, *Set[string, [64]byte]){
		"cancelled": func(t *testing.T, s *Set[string, [64]byte]) {
			for _, key := range keys {
				s.Cancel(key)
			}
		},
		"run": func(t *testing.T, s *Set[string, [64]byte]) {
			ran, err := s.Step(context.Background())
			require.NoError(t, err)
			require.Equal(t, n, ran)
		},
		"failed, then cancelled": func(t *testing.T, s *Set[string, [64]byte]) {
			for _, key := range keys {
				s.ScheduleEntry(Entry[string, [64]byte]{Key: key, Value: [64]byte{1}, OnDuplicate: Replace})
			}
			ran, err := s.Step(context.Background())
			require.NoError(t, err)
			require.Equal(t, n, ran)
			require.Len(t, s.All(), n+1)
			for _, key := range keys {
				s.Cancel(key)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			clk := testingclock.NewFakePassiveClock(epoch)
			s, err := New(func(_ context.Context, w Work[string, [64]byte]) Result {
				if w.Value[0] == 1 {
					return Blocked(0)
				}
				return Forget()
			}, Config{Clock: clk})
			require.NoError(t, err)
			s.Schedule("stays", [64]byte{}, epoch.Add(time.Hour))
			before, _ := allocated()
			for _, key := range keys {
				s.Schedule(key, [64]byte{}, epoch)
			}
			peak, _ := allocated()
			empty(t, s)
			after, _ := allocated()
			require.LessOrEqual(t, after-before, (peak-before)/20)
			require.Len(t, s.All(), 1)
			runtime.KeepAlive(s)
		})
	}
}

// Nothing is kept of work that has ended, or of replaced times and values.
func TestValuesAreLetGo(t *testing.T) {
	freed := 0
	done := make(chan struct{}, 100)
	value := func() *[1 << 10]byte {
		v := new([1 << 10]byte)
		runtime.SetFinalizer(v, func(*[1 << 10]byte) { done <- struct{}{} })
		return v
	}
	s, err := New(func(context.Context, Work[int, *[1 << 10]byte]) Result { return Forget() }, Config{Clock: testingclock.NewFakePassiveClock(epoch)})
	require.NoError(t, err)
	for i := range 30 {
		s.Schedule(i, value(), epoch)
		s.Schedule(100+i, value(), epoch.Add(time.Hour))
		s.Schedule(100+i, value(), epoch.Add(2*time.Hour))
		s.Cancel(100 + i)
	}
	ran, err := s.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, 30, ran)
	for freed < 90 {
		runtime.GC()
		<-done
		freed++
	}
	runtime.KeepAlive(s)
}
