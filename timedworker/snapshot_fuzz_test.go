package timedworker

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// What decodes is either refused and changes nothing, or is restored completely and works.
func FuzzRestore(f *testing.F) {
	for _, text := range []string{
		`{"version":1,"items":[{"key":"a","value":1,"in":5000000000},{"key":"b","identity":"u","value":2,"in":-9,"putOff":7,"attempts":3}],"pauses":["x"]}`,
		`{"version":1,"items":[{"key":"a","in":-9223372036854775808},{"key":"b","in":9223372036854775807,"putOff":9223372036854775807}]}`,
		`{"version":1,"items":[{"key":"a"},{"key":"a"}]}`,
		`{"version":2,"items":[]}`,
		`{"version":1,"pauses":["x","x"]}`,
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, monotonic bool) {
		var snapshot Snapshot[string, int]
		if json.Unmarshal(text, &snapshot) != nil {
			return
		}
		c := clockcases.New(monotonic)
		c.Pass(time.Hour)
		s, ran := setOn(t, c)
		if err := s.Restore(snapshot); err != nil {
			require.ErrorContains(t, err, "timedworker: cannot restore")
			require.Equal(t, Snapshot[string, int]{Version: 1, Items: []SnapshotItem[string, int]{}}, s.Snapshot())
			require.Zero(t, s.Stats())
			return
		}
		require.Equal(t, len(snapshot.Items), s.Len())
		again := s.Snapshot()
		require.True(t, slices.Equal(snapshot.Pauses, again.Pauses))
		order := func(a, b SnapshotItem[string, int]) int { return int(min(max(a.In/2-b.In/2, -1), 1)) }
		require.True(t, slices.IsSortedFunc(again.Items, order))
		other, _ := setOn(t, c)
		require.NoError(t, other.Restore(again))
		require.Equal(t, again, other.Snapshot(), "places too")
		require.ElementsMatch(t, withoutPlaces(snapshot.Items), withoutPlaces(again.Items))
		due := 0
		for _, item := range snapshot.Items {
			if item.In <= 0 {
				due++
			}
		}
		for _, reason := range s.Paused() {
			s.Resume(reason)
		}
		_, err := s.Step(context.Background())
		require.NoError(t, err)
		require.Len(t, *ran, due)
		require.Equal(t, len(snapshot.Items)-due, s.Len())
	})
}

func withoutPlaces(items []SnapshotItem[string, int]) []SnapshotItem[string, int] {
	items = slices.Clone(items)
	for i := range items {
		items[i].Place = 0
	}
	return items
}
