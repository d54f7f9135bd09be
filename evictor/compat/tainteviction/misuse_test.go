package tainteviction

import (
	"testing"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"no function", misuse.Panic(func() { CreateWorkerQueue(nil) }),
			"panic: tainteviction: CreateWorkerQueue needs a function that does the work, not nil"},
	})
}
