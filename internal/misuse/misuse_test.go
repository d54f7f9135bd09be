package misuse

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatCountsAsAnAnswer: an error, and a panic of ours. Silence does not, nor what the runtime says.
func TestWhatCountsAsAnAnswer(t *testing.T) {
	var none *struct{ field int }
	for _, row := range []struct {
		use   func() error
		is    string
		named bool
	}{
		{func() error { return errors.New("no client") }, "no client", true},
		{func() error { return nil }, "", true},
		{Panic(func() { panic("no client") }), "panic: no client", true},
		{Panic(func() { panic(errors.New("no client")) }), "panic: no client", true},
		{Panic(func() { none.field++ }), "panic: runtime error: invalid memory address or nil pointer dereference", false},
		{func() error { return Said(1, errors.New("no client")) }, "no client", true},
	} {
		is, named := answer(row.use)
		require.Equal(t, row.is, is)
		require.Equal(t, row.named, named)
	}
}
