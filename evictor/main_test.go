package evictor_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// Lives and small worlds make much garbage beside a small heap.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
