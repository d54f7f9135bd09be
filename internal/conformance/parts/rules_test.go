package parts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/conformance/differential"
	"github.com/evictkit/evictkit/internal/conformance/rule"
)

// The deliberate differences, each with the beginning of its row in DIFFERENCES.md.
var (
	tokenForNothing = rule.New("TokenForNothing", "a token is spent only on what is due")
	firstCome       = rule.New("FirstCome", "ties are served first")
	exactRetry      = rule.New("ExactRetry", "a retry is due at the time that it names")
	addedInFlight   = rule.New("AddedInFlight", "re-adding an in-flight key queues")

	queuedBehind  = rule.New("QueuedBehind", "re-adding an in-flight key queues")
	cancelRunning = rule.New("CancelRunning", "a cancel says whether the work had begun")
	exactWork     = rule.New("ExactWork", "work is due at an instant")
	validated     = rule.New("Validated", "parameters are validated")

	swapKeepsTime  = rule.New("SwapKeepsTime", "a swap of our two taints keeps its")
	timeKept       = rule.New("TimeKept", "an existing taint keeps its time")
	untimed        = rule.New("Untimed", "only NoExecute taints get a time")
	valueCorrected = rule.New("ValueCorrected", "we remove a value from one of our taints")
	oneWrite       = rule.New("OneWrite", "a swap of our two taints is one")

	queueRules = []rule.Rule{tokenForNothing, firstCome, exactRetry, addedInFlight, differential.RateZero, differential.RateOne}
	workRules  = []rule.Rule{queuedBehind, cancelRunning, exactWork, differential.FailedWrites}
	zoneRules  = []rule.Rule{validated}
	patchRules = []rule.Rule{swapKeepsTime, timeKept, untimed, valueCorrected, oneWrite}
)

func TestEachRuleNamesARowOfTheTable(t *testing.T) {
	require.NoError(t, rule.Check(slices.Concat(queueRules, workRules, zoneRules, patchRules)))
}

// fired counts how often each rule explained a difference.
type fired map[rule.Rule]int

// requireAll logs the counts and fails if one of the rules never fired.
func (f fired) requireAll(t *testing.T, rules ...rule.Rule) {
	t.Helper()
	for _, rule := range rules {
		t.Logf("%-16s %6d", rule.Name, f[rule])
	}
	for _, rule := range rules {
		require.Positive(t, f[rule], "%s never fired", rule.Name)
	}
}

// script is the source of a sequence of operations. At its end it returns zeros.
type script struct{ bytes []byte }

// seeded returns the script of a seed.
func seeded(seed uint64, length int) *script {
	random := rand.New(rand.NewPCG(seed, seed))
	s := &script{make([]byte, length)}
	for i := range s.bytes {
		s.bytes[i] = byte(random.Uint32())
	}
	return s
}

// inBubbles runs the scripts of that many seeds, each in its own bubble; with -short a fifth of them.
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

// below returns a number from 0 up to, but not including, n, which is at most 256.
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
