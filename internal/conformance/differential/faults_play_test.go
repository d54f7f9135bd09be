//go:build faults

package differential

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/internal/conformance/faults"
	"github.com/evictkit/evictkit/internal/fault"
)

// TestPlayFaults plays each deliberate fault in the scenarios, and prints what was seen of it, a line of JSON each.
func TestPlayFaults(t *testing.T) {
	plays := make([]*Played, *seeds)
	paths := make([]string, *seeds)
	each(len(plays), func(i int) {
		c := Mixed(*from+uint64(i), Against(*against))
		path, err := c.Save(t.TempDir())
		if err == nil {
			plays[i], _, err = oracles.check(t.Context(), c, path, Against(*against))
		}
		if paths[i] = path; err != nil {
			t.Errorf("seed %d: %v", *from+uint64(i), err)
		}
	})
	if t.Failed() {
		return
	}
	out := json.NewEncoder(os.Stdout)
	for number, f := range faults.All {
		fault.Set(number + 1)
		s := Seen{Name: f.Name, Fired: map[string]int{}}
		var mu sync.Mutex
		each(len(plays), func(i int) {
			is := faulty(plays[i], paths[i])
			mu.Lock()
			defer mu.Unlock()
			s.add(*from+uint64(i), is)
		})
		require.NoError(t, out.Encode(s))
	}
}

// outcome is what was seen of a fault in a scenario.
type outcome struct {
	shown, evicts, reported bool
	fired                   []string
}

// faulty plays a scenario once more, and compares.
func faulty(was *Played, path string) (is outcome) {
	q := *was
	defer func() {
		if recover() != nil {
			is = outcome{shown: true, evicts: true, reported: true}
		}
	}()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if q.compat = (compat{}); q.ours(ctx, path) != nil {
		return outcome{shown: true, evicts: true, reported: true}
	}
	if is.shown = !slices.Equal(was.plain, q.Ours); !is.shown {
		return is
	}
	is.evicts = !slices.Equal(evictionsIn(was.plain), evictionsIn(q.Ours))
	if is.reported = len(Judge(&q)) > 0; is.reported {
		return is
	}
	for _, c := range []compat{{}, {forgetLease: true}, {loseTaints: true}, {true, true}} {
		if q.compat = c; c != (compat{}) && q.ours(ctx, path) != nil {
			return outcome{shown: true, evicts: true, reported: true}
		}
		r := Compare(&q)
		if is.reported = len(r.Unexplained) > 0; !is.reported {
			for rule, n := range r.Fired {
				if n > was.compared.fired[rule] {
					is.fired = append(is.fired, rule.Name)
				}
			}
			return is
		}
	}
	return is
}

func evictionsIn(lines []timeline.Line) (some []timeline.Line) {
	for _, l := range lines {
		if l.Kind == timeline.KindEvict {
			some = append(some, l)
		}
	}
	return some
}

func (s *Seen) add(seed uint64, is outcome) {
	if !is.shown {
		return
	}
	s.Shown++
	if is.evicts {
		s.Evicts++
	}
	switch {
	case is.reported && is.evicts:
		s.Reported++
		s.EvictsReported++
	case is.reported:
		s.Reported++
	default:
		s.Swallowed = append(s.Swallowed, seed)
		for _, rule := range is.fired {
			s.Fired[rule]++
		}
	}
}
