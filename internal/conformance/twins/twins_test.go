package twins

import (
	"flag"
	"fmt"
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// usualSeeds is how many scenarios of each twin the tests play, and with EVICTKIT_FULL.
const usualSeeds, fullSeeds = 20, 200

var (
	first = flag.Uint64("from", 1, "the first seed")
	seeds = flag.Uint64("seeds", 0, fmt.Sprintf("how many seeds of each twin; 0 means %d, or %d with EVICTKIT_FULL", usualSeeds, fullSeeds))
	shown = flag.Bool("shown", false, "log what the rows explain")
)

func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil // they log and wait
	klog.SetLogger(klog.Logger{})
	flag.Parse()
	if *seeds == 0 {
		*seeds = usualSeeds
		if os.Getenv("EVICTKIT_FULL") != "" {
			*seeds = fullSeeds
		}
	}
	os.Exit(m.Run())
}

// TestTwins plays random scenarios of each twin. What differs has a row, and each row explains something.
func TestTwins(t *testing.T) {
	used := make(map[string]int)
	played := 0
	for i := range twins {
		t.Run(twins[i].name, func(t *testing.T) {
			played++
			for seed := *first; seed < *first+*seeds; seed++ {
				t.Run(fmt.Sprint(seed), func(t *testing.T) { twins[i].scene(seed).judge(t, used) })
			}
		})
	}
	if played < len(twins) || *first != 1 || *seeds < usualSeeds {
		return // the scenarios that a row is for may not be among these
	}
	for _, r := range mayDiffer {
		if used[r.name] == 0 {
			t.Errorf("nothing differs any more because of %q: take the row away", r.name)
		}
	}
}

// tries is how often upstream plays a scenario: in which order its goroutines act within an instant is random.
const tries = 4

// judge plays a scenario on both sides, and counts what each row explains.
func (s *scene) judge(t *testing.T, used map[string]int) {
	t.Helper()
	var unexplained []difference
	for again := tries; again > 0; again-- {
		if unexplained = s.differs(t, used); len(unexplained) == 0 {
			break
		}
	}
	for _, d := range unexplained {
		t.Error(d)
	}
	if t.Failed() || *shown {
		for i := range s.file.Events {
			t.Logf("event at %v: %s", s.file.Events[i].At, s.file.Events[i].String())
		}
	}
}

// differs returns what no row explains.
func (s *scene) differs(t *testing.T, used map[string]int) (unexplained []difference) {
	t.Helper()
	left := pair(s.ours(t), s.theirs(t))
	for _, d := range left {
		explained := ""
		for _, r := range mayDiffer {
			if r.explains(s, d, left) {
				used[r.name]++
				explained = r.name
			}
		}
		if explained == "" {
			unexplained = append(unexplained, d)
		} else if *shown {
			t.Log(d, "because of", explained)
		}
	}
	return unexplained
}
