package sighting_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/sighting"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// leases are those of a cluster: when each was renewed, and when as the watch shows it, in seconds; -1 is a lease that is gone.
type leases struct {
	renewed, shown map[string]int
	read           []string
	err            error
}

func (l *leases) LastShown(from, n int) []string {
	names := []string{}
	for name := range l.shown {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if by := l.shown[b] - l.shown[a]; by != 0 {
			return by
		}
		return slices.Compare([]byte(a), []byte(b))
	})
	names = append(names[from%len(names):], names[:from%len(names)]...)
	return names[:min(n, len(names))]
}

func (l *leases) Read(_ context.Context, node string) (time.Time, error) {
	l.read = append(l.read, node)
	if l.renewed[node] < 0 {
		return time.Time{}, l.err
	}
	return epoch.Add(time.Duration(l.renewed[node]) * time.Second), l.err
}

func (l *leases) Shows(r sighting.Renewal) bool {
	return !epoch.Add(time.Duration(l.shown[r.Node]) * time.Second).Before(r.At)
}

func (l *leases) look(t *testing.T, w *sighting.Watch, told error) error {
	t.Helper()
	l.read = nil
	return w.Look(context.Background(), sighting.Facts{Quiet: 21 * time.Second, Told: told}, l)
}

func TestLook(t *testing.T) {
	before := errors.New("told before")
	w := &sighting.Watch{Silence: 20 * time.Second}
	l := &leases{renewed: map[string]int{"a": 10, "b": 11, "c": 12, "d": 13}, shown: map[string]int{"a": 10, "b": 11, "c": 12, "d": 13}}
	require.NoError(t, l.look(t, w, before), "they stand still there, too")
	require.Equal(t, []string{"d", "c", "b"}, l.read, "the last renewed first")
	require.NoError(t, l.look(t, w, nil))
	require.Equal(t, []string{"a", "d", "c"}, l.read, "and then the others")

	l.renewed["b"] = 30
	require.Equal(t, before, l.look(t, w, before), "the watch may be about to show it")
	require.Equal(t, []string{"b"}, l.read)
	require.EqualError(t, l.look(t, w, before), "the watch of leases has stood still for 21s: node b renewed its lease unseen")
	require.Equal(t, "b", l.read[0], "who was unseen first")
	l.shown["b"] = 30
	require.NoError(t, l.look(t, w, before), "it was about to show it")

	l.err = errors.New("no answer")
	require.ErrorIs(t, l.look(t, w, nil), l.err)
	require.EqualError(t, l.look(t, w, nil), "no lease has advanced for 21s, and none can be read: no answer")

	l.err, l.renewed["b"] = nil, 40
	require.NoError(t, l.look(t, w, nil))
	l.read = nil
	require.NoError(t, w.Look(context.Background(), sighting.Facts{Quiet: 19 * time.Second, Told: before}, l), "a lease has advanced")
	require.Empty(t, l.read)
	l.renewed["b"] = 30
	require.NoError(t, l.look(t, w, before), "what was found before is forgotten")
}

// A process that has slept reads some even if one has just advanced.
func TestAfterASleep(t *testing.T) {
	w := &sighting.Watch{Silence: 20 * time.Second}
	l := &leases{renewed: map[string]int{"a": 30}, shown: map[string]int{"a": 10}}
	require.NoError(t, w.Look(context.Background(), sighting.Facts{Slept: true}, l))
	require.EqualError(t, w.Look(context.Background(), sighting.Facts{Slept: true}, l), "the watch of leases has stood still for 0s: node a renewed its lease unseen")
}

// Leases that are gone say nothing, and a look does not ask for all.
func TestLeasesThatAreGone(t *testing.T) {
	w := &sighting.Watch{Silence: 20 * time.Second}
	l := &leases{renewed: map[string]int{}, shown: map[string]int{}}
	for i := range 40 {
		l.renewed[fmt.Sprint("n", i)], l.shown[fmt.Sprint("n", i)] = -1, 100-i
	}
	require.NoError(t, l.look(t, w, nil))
	require.Len(t, l.read, 16)
	l.renewed["n20"] = 500
	require.NoError(t, l.look(t, w, nil))
	require.Equal(t, "n20", l.read[len(l.read)-1], "it goes on where it was")
}

func TestTimes(t *testing.T) {
	w := sighting.Watch{Silence: 20 * time.Second}
	require.Equal(t, 2500*time.Millisecond, w.Every())
	require.Equal(t, 10*time.Second, w.Patience())
	w.Silence = time.Millisecond
	require.Equal(t, time.Millisecond, w.Every())
}
