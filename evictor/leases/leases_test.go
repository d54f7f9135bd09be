package leases_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/leases"
)

// judge asks about nodes and notes what it is told.
type judge struct {
	mu     sync.Mutex
	silent []string
	read   map[string]error
	health []error
}

func (j *judge) Silent() (nodes []string, next time.Time) { return j.silent, time.Time{} }

func (j *judge) LeaseRead(node string, _ time.Time, _ string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read[node] = err
}

func (j *judge) SetLeaseHealth(err error) { j.health = append(j.health, err) }

// A node whose lease cannot be read waits; if none can, three times in a row, the judge cannot see until one can.
func TestWhatCannotBeRead(t *testing.T) {
	down, broken := errors.New("down"), map[string]bool{"a": true}
	j := &judge{silent: []string{"a", "b"}, read: map[string]error{}}
	r := leases.Reader{Judge: j, Clock: testingclock.NewFakePassiveClock(time.Unix(0, 0)), Read: func(_ context.Context, node string) (leases.Lease, error) {
		if broken[node] {
			return leases.Lease{}, down
		}
		return leases.Lease{RenewTime: time.Unix(1, 0)}, nil
	}}
	next := r.Once(context.Background())
	require.Equal(t, time.Unix(0, 0).Add(500*time.Millisecond), next)
	require.Equal(t, map[string]error{"a": down, "b": nil}, j.read)
	require.Equal(t, []error{nil}, j.health, "whatever an earlier reader has said")
	broken["b"] = true
	for range 3 {
		r.Once(context.Background())
	}
	require.Equal(t, []error{nil, down}, j.health)
	broken["b"] = false
	r.Once(context.Background())
	require.Equal(t, []error{nil, down, nil}, j.health)
	r.Once(context.Background())
	require.Len(t, j.health, 3, "it is told once")
	broken["b"] = true
	for range 3 {
		r.Once(context.Background())
	}
	j.silent = nil // their nodes have gone
	for range 3 {
		r.Once(context.Background())
	}
	require.Equal(t, []error{nil, down, nil, down, nil}, j.health)
	j.silent = []string{"a"}
	for range 3 {
		r.Once(context.Background())
	}
	require.Len(t, j.health, 5, "it may be that object")
	j.silent = []string{"a", "b"}
	r.Once(context.Background())
	require.Len(t, j.health, 5, "one lost answer makes nobody else wait")
}

// Run says what it needs, and its Judge hears it too, because many programs start Run in a goroutine of its own.
func TestRunSaysWhatItNeeds(t *testing.T) {
	j := &judge{read: map[string]error{}}
	r := leases.Reader{Judge: j, Clock: testingclock.NewFakePassiveClock(time.Unix(0, 0))}
	err := r.Run(context.Background())
	require.EqualError(t, err, "leases: the Clock of a Reader that Runs must be a clock.Clock, with timers, which *testing.FakePassiveClock is not")
	require.Equal(t, []error{err}, j.health)
}

// From 100 nodes on one list is read.
func TestManyAreReadByOneList(t *testing.T) {
	j := &judge{read: map[string]error{}}
	for i := range 100 {
		j.silent = append(j.silent, fmt.Sprint(i))
	}
	lists := 0
	r := leases.Reader{
		Judge: j, Clock: testingclock.NewFakePassiveClock(time.Unix(0, 0)),
		Read: func(context.Context, string) (leases.Lease, error) { panic("one by one") },
		List: func(context.Context) (map[string]leases.Lease, error) { lists++; return nil, nil },
	}
	r.Once(context.Background())
	require.Equal(t, 1, lists)
	require.Len(t, j.read, 100)
}
