//go:build go1.25

package clientgo

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is a Target to which something else happens while it is told for the first time.
type slow struct {
	fed
	meanwhile func()
	told      []error
}

func (s *slow) SetObserverHealth(err error) {
	if do := s.meanwhile; do != nil {
		s.meanwhile = nil
		do()
	}
	s.told = append(s.told, err)
}

// TestTheLatestFindingIsToldLast: an evictor that is fed while the guard finds something else would be frozen for ever.
func TestTheLatestFindingIsToldLast(t *testing.T) {
	g := newGuard(&Cluster{opts: Options{Logger: slog.New(slog.DiscardHandler)}})
	blind := errors.New("blind")
	g.found(blind, time.Time{})
	told := make(chan struct{})
	e := &slow{meanwhile: func() {
		require.False(t, g.telling.TryLock(), "who finds something else waits")
		go func() {
			defer close(told)
			g.found(nil, time.Time{})
		}()
	}}
	g.tell(e)
	<-told
	require.Equal(t, []error{blind, nil}, e.told)
	g.found(blind, time.Time{})
	require.Len(t, e.told, 3, "once each")
}

// TestWhatTheGuardFindsIsNotOverruled: an evictor is told that it sees again once the guard says so and leases can be read.
func TestWhatTheGuardFindsIsNotOverruled(t *testing.T) {
	g := newGuard(&Cluster{opts: Options{Logger: slog.New(slog.DiscardHandler)}})
	e := &slow{}
	g.tell(e)
	reads := judge{guard: g}
	blind, unread := errors.New("blind"), errors.New("no lease can be read")
	reads.SetLeaseHealth(unread)
	g.found(blind, time.Time{})
	reads.SetLeaseHealth(nil)
	require.Equal(t, []error{unread}, e.told)
	reads.SetLeaseHealth(unread)
	g.found(nil, time.Time{})
	require.Equal(t, []error{unread}, e.told)
	reads.SetLeaseHealth(nil)
	require.Equal(t, []error{unread, nil}, e.told)
}
