//go:build go1.25

package clientgo

import (
	"errors"
	"log/slog"
	"testing"

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
	g.found(blind)
	e := &slow{meanwhile: func() { g.found(nil) }}
	g.tell(e)
	require.Equal(t, []error{blind, nil}, e.told)
	g.found(blind)
	require.Len(t, e.told, 3, "once each")
}
