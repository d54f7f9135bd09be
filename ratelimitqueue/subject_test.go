package ratelimitqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// subject is a queue or a group, with the methods that random operations use on both.
type subject struct {
	q   *Queue[string, int]
	g   *Group[string, string, int]
	clk *clockcases.Clock
}

// setup is how subjects are made.
type setup struct {
	queue   bool
	rate    rate.Limit
	burst   int
	maxRate rate.Limit
	prefer  bool
}

func (s *setup) make(t testing.TB, start time.Time, monotonic bool) *subject {
	sub := &subject{clk: clockcases.New(monotonic)}
	sub.clk.Set(start.Sub(clockcases.Start))
	config := GroupConfig[string, string]{
		Config:  Config{Rate: s.rate, Burst: s.burst, Clock: sub.clk},
		MaxRate: s.maxRate,
	}
	var err error
	if s.queue {
		sub.q, err = New[string, int](config.Config)
		require.NoError(t, err)
		return sub
	}
	if s.prefer {
		config.Prefer = func(_ string, due []string) string { return greatest(due) }
	}
	sub.g, err = NewGroup[string, string, int](config)
	require.NoError(t, err)
	return sub
}

func greatest(keys []string) (key string) {
	for _, k := range keys {
		key = max(key, k)
	}
	return key
}

func (s *subject) core() *core[string, int] {
	if s.q != nil {
		return &s.q.core
	}
	return &s.g.core
}

func (s *subject) add(domain string, e Entry[string, int]) State {
	if s.q != nil {
		return s.q.AddEntry(e)
	}
	return s.g.AddEntry(domain, e)
}

func (s *subject) take() (it groupItem, ok bool) {
	if s.q != nil {
		it.Domain = "p"
		it.Item, ok = s.q.Take()
	} else {
		it.Domain, it.Item, ok = s.g.Take()
	}
	return it, ok
}

func (s *subject) setRate(domain string, limit rate.Limit) error {
	if s.q != nil {
		return s.q.SetRate(limit)
	}
	return s.g.SetRate(domain, limit)
}

func (s *subject) get(key string) (domain string, st Status, ok bool) {
	if s.q != nil {
		st, ok = s.q.Get(key)
		return "p", st, ok
	}
	return s.g.Get(key)
}

// choices are the source of random operations: bytes, or a seed.
type choices interface {
	// below returns a number from 0 up to, but not including, n, which is at most 256; more says whether there are more
	// choices.
	below(n int) int
	more() bool
}

type bytesChoices struct{ bytes []byte }

func (b *bytesChoices) more() bool { return len(b.bytes) > 0 }
func (b *bytesChoices) below(n int) int {
	if len(b.bytes) == 0 {
		return 0
	}
	c := b.bytes[0]
	b.bytes = b.bytes[1:]
	return int(c) % n
}

// seededChoices is a fast generator of a number of choices.
type seededChoices struct {
	state uint64
	left  int
}

func (s *seededChoices) more() bool { s.left--; return s.left >= 0 }
func (s *seededChoices) below(n int) int {
	s.state = s.state*6364136223846793005 + 1442695040888963407
	return int(s.state>>33) % n
}

func pick[T any](c choices, of ...T) T { return of[c.below(len(of))] }
