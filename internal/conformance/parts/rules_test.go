package parts

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/conformance/differential"
)

// The deliberate differences, each with the beginning of its row in the table of package evictor.
var (
	tokenForNothing = differential.Rule{Name: "TokenForNothing", Row: "a token is spent only on what is due"}
	firstCome       = differential.Rule{Name: "FirstCome", Row: "who is due at the same time is served"}
	exactRetry      = differential.Rule{Name: "ExactRetry", Row: "a retry is due when it says"}
	newIdentity     = differential.Rule{Name: "NewIdentity", Row: "a recreated node starts afresh"}
	addedInFlight   = differential.Rule{Name: "AddedInFlight", Row: "what is added again while it is in"}

	queuedBehind  = differential.Rule{Name: "QueuedBehind", Row: "what is added again while it is in"}
	cancelRunning = differential.Rule{Name: "CancelRunning", Row: "cancelling tells if work has begun"}
	exactWork     = differential.Rule{Name: "ExactWork", Row: "work is due at an instant"}
	validated     = differential.Rule{Name: "Validated", Row: "parameters are validated"}

	swapKeepsTime  = differential.Rule{Name: "SwapKeepsTime", Row: "a swap of our two taints keeps its"}
	timeKept       = differential.Rule{Name: "TimeKept", Row: "a taint that is there keeps its time"}
	untimed        = differential.Rule{Name: "Untimed", Row: "only NoExecute taints get a time"}
	valueCorrected = differential.Rule{Name: "ValueCorrected", Row: "a value on one of our taints is"}
	oneWrite       = differential.Rule{Name: "OneWrite", Row: "a swap of our two taints is one write"}

	queueRules = []differential.Rule{tokenForNothing, firstCome, exactRetry, newIdentity, addedInFlight, differential.RateZero, differential.RateOne}
	workRules  = []differential.Rule{newIdentity, queuedBehind, cancelRunning, exactWork, differential.FailedWrites}
	zoneRules  = []differential.Rule{validated}
	patchRules = []differential.Rule{swapKeepsTime, timeKept, untimed, valueCorrected, oneWrite}
)

func TestEachRuleNamesARowOfTheTable(t *testing.T) {
	page, err := os.ReadFile("../../../evictor/doc.go")
	require.NoError(t, err)
	for _, rules := range [][]differential.Rule{queueRules, workRules, zoneRules, patchRules} {
		for _, rule := range rules {
			require.True(t, strings.Contains(string(page), "\n//\t"+rule.Row), "%s: %s", rule.Name, rule.Row)
		}
	}
}

// fired counts how often each rule explained a difference.
type fired map[differential.Rule]int

// requireAll logs the counts and fails when one of the rules never fired.
func (f fired) requireAll(t *testing.T, rules ...differential.Rule) {
	t.Helper()
	for _, rule := range rules {
		t.Logf("%-16s %6d", rule.Name, f[rule])
	}
	for _, rule := range rules {
		require.Positive(t, f[rule], "%s never fired", rule.Name)
	}
}

// script is where a sequence of operations comes from. When it is at its end it gives zeros.
type script struct{ bytes []byte }

// seeded is the script of a seed.
func seeded(seed uint64, length int) *script {
	random := rand.New(rand.NewPCG(seed, seed))
	s := &script{make([]byte, length)}
	for i := range s.bytes {
		s.bytes[i] = byte(random.Uint32())
	}
	return s
}

// inBubbles runs the scripts of so many seeds, each in a bubble of its own; with -short a fifth of them.
func inBubbles(t *testing.T, seeds uint64, length int, run func(*testing.T, *script)) {
	if testing.Short() {
		seeds /= 5
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			})
			run(t, seeded(seed, length))
		})
	}
}

// fuzzInBubbles runs any script.
func fuzzInBubbles(f *testing.F, run func(*testing.T, *script, fired)) {
	for seed := range uint64(20) {
		f.Add(seeded(seed, 300).bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		synctest.Test(t, func(t *testing.T) { run(t, &script{bytes}, fired{}) })
	})
}

func (s *script) over() bool { return len(s.bytes) == 0 }

// below is a number from 0 up to and without n, which is at most 256.
func (s *script) below(n int) int {
	if s.over() {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

func (s *script) oneIn(n int) bool { return s.below(n) == n-1 }

// pick returns one of the values.
func pick[T any](s *script, values ...T) T { return values[s.below(len(values))] }

// sleep lets one of the durations pass in the bubble.
func (s *script) sleep(durations ...time.Duration) { time.Sleep(pick(s, durations...)) }

func key(i int) string { return fmt.Sprintf("key-%d", i) }
