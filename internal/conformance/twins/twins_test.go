package twins

import (
	"flag"
	"fmt"
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

var (
	first = flag.Uint64("from", 1, "the first seed")
	seeds = flag.Uint64("seeds", 0, "how many seeds of each twin; 0 means 20, or 200 with EVICTKIT_FULL")
	shown = flag.Bool("shown", false, "show all that both sides show in a scenario that fails")
)

func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil // they log and wait
	klog.SetLogger(klog.Logger{})
	flag.Parse()
	if *seeds == 0 {
		*seeds = 20
		if os.Getenv("EVICTKIT_FULL") != "" {
			*seeds = 200
		}
	}
	os.Exit(m.Run())
}

func TestTwins(t *testing.T) {
	for _, of := range twins {
		t.Run(of.name, func(t *testing.T) {
			for seed := *first; seed < *first+*seeds; seed++ {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					s := of.scene(seed)
					left := pair(s.ours(t), s.theirs(t), func(mine, their line) bool { return false })
					for _, e := range s.file.Events {
						t.Logf("event at %v %s", e.At, e.String())
					}
					for _, d := range left {
						t.Error(d)
					}
				})
			}
		})
	}
}
