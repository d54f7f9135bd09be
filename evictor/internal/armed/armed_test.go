package armed

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/timedworker"
)

type work = timedworker.Work[string, *eviction]

// eviction is of a pod, and refused as long as that says.
type eviction struct {
	slot, uid string
	refused   int
}

type story struct {
	*Evictions[string, *eviction]
	t     *testing.T
	clock *clocktesting.FakeClock
	tried []string
	lens  []int // what Len was during each try
}

func tell(t *testing.T) *story {
	s := &story{t: t, clock: clocktesting.NewFakeClock(time.Unix(0, 0))}
	var err error
	s.Evictions, err = New(timedworker.Config{Clock: s.clock, Workers: 20}, func(ev *eviction) (string, string) { return ev.slot, ev.uid }, s.evict)
	require.NoError(t, err)
	return s
}

// evict is tried every minute while it is refused.
func (s *story) evict(_ context.Context, w work, apart bool) timedworker.Result {
	set := " "
	if apart {
		set = " apart "
	}
	s.tried = append(s.tried, w.Key+set+s.clock.Now().Sub(time.Unix(0, 0)).String())
	s.lens = append(s.lens, s.Len())
	ev := w.Value
	if ev.refused == 0 {
		return timedworker.Forget()
	}
	if ev.refused--; apart {
		return timedworker.Blocked(time.Minute)
	}
	return s.PutApart(w, s.clock.Now().Add(time.Minute))
}

func (s *story) in(d time.Duration) time.Time { return s.clock.Now().Add(d) }

// after lets time pass in steps of a second, and returns what was tried.
func (s *story) after(d time.Duration) (tried []string) {
	for end := s.in(d); ; s.clock.Step(time.Second) {
		for _, set := range []*timedworker.Set[string, *eviction]{s.Fresh, s.Refused} {
			_, err := set.Step(context.Background())
			require.NoError(s.t, err)
		}
		if !s.clock.Now().Before(end) {
			break
		}
	}
	tried, s.tried = s.tried, nil
	return tried
}

func TestRefusedOnesGoApart(t *testing.T) {
	s := tell(t)
	s.Schedule(&eviction{slot: "a", refused: 2}, s.in(time.Second))
	s.Schedule(&eviction{slot: "b"}, s.in(time.Minute))
	require.Equal(t, 2, s.Len())
	require.Equal(t, []string{"a 1s", "b 1m0s", "a apart 1m1s"}, s.after(90*time.Second))
	items := s.Items()
	require.Len(t, items, 1)
	require.Equal(t, 31*time.Second, items[0].In)
	require.Equal(t, []string{"a apart 2m1s"}, s.after(time.Hour))
	require.Zero(t, s.Len())
	require.Equal(t, []int{2, 2, 1, 1}, s.lens, "what is tried is armed yet")
}

func TestItStaysApartWhenItIsMoved(t *testing.T) {
	s := tell(t)
	a := &eviction{slot: "a", refused: 1}
	s.Schedule(a, s.in(0))
	require.Equal(t, []string{"a 0s"}, s.after(0))
	s.Schedule(a, s.in(2*time.Second))
	s.Schedule(&eviction{slot: "b"}, s.in(time.Second))
	require.Equal(t, []string{"b", "a"}, []string{s.Items()[0].Key, s.Items()[1].Key}, "by what is due")
	require.Equal(t, []string{"b 1s", "a apart 2s"}, s.after(time.Hour))
}

func TestSooner(t *testing.T) {
	s := tell(t)
	a, b := &eviction{slot: "a", refused: 1}, &eviction{slot: "b"}
	s.Try([]*eviction{a}, s.clock.Now())
	require.Equal(t, []string{"a 0s"}, s.after(0))
	s.Schedule(b, s.in(time.Hour))
	for _, slot := range []string{"a", "b", "nobody"} {
		s.Sooner(slot, s.in(time.Second))
		s.Sooner(slot, s.in(time.Minute))
	}
	require.Equal(t, []string{"b 1s", "a apart 1s"}, s.after(time.Hour), "never later")
	require.Zero(t, s.Len(), "who is not armed is not armed by it")
}

func TestCancel(t *testing.T) {
	s := tell(t)
	a := &eviction{slot: "a", uid: "1", refused: 1}
	s.Schedule(a, s.in(0))
	s.Schedule(&eviction{slot: "b", uid: "2"}, s.in(time.Second))
	require.Equal(t, []string{"a 0s"}, s.after(0))
	require.NotEqual(t, timedworker.Waiting, s.Cancel("a", "another"))
	require.Equal(t, timedworker.Waiting, s.Cancel("a", "1"))
	require.Equal(t, timedworker.Waiting, s.Cancel("b", "2"))
	require.Equal(t, timedworker.Unknown, s.Cancel("b", "2"))
	require.Empty(t, s.after(time.Hour))
}

// What was called off while it was tried is not put apart.
func TestCalledOffMeanwhile(t *testing.T) {
	s := tell(t)
	called := false
	var err error
	s.Evictions, err = New(timedworker.Config{Clock: s.clock}, func(ev *eviction) (string, string) { return ev.slot, ev.uid },
		func(_ context.Context, w work, _ bool) timedworker.Result {
			called = true
			s.Cancel("a", "")
			return s.PutApart(w, s.in(time.Second))
		})
	require.NoError(t, err)
	s.Schedule(&eviction{slot: "a"}, s.in(0))
	s.after(0)
	require.True(t, called)
	require.Zero(t, s.Len())
}

func TestFaultsOfTheConfiguration(t *testing.T) {
	_, err := New(timedworker.Config{Workers: -1}, func(*eviction) (string, string) { return "", "" }, nil)
	require.Error(t, err)
}
