package suites

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "6") // they wait most of the time
	os.Exit(m.Run())
}

// full skips what takes minutes.
func full(t *testing.T) {
	t.Helper()
	if os.Getenv("EVICTKIT_FULL") == "" {
		t.Skip("it takes minutes; EVICTKIT_FULL=1 plays it")
	}
}
