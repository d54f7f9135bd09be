package zone

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// noting remembers what its policy was asked.
type noting struct {
	asked  []Situation
	ruling Ruling
}

func (n *noting) Decide(s Situation) Ruling {
	n.asked = append(n.asked, s)
	return n.ruling
}

func TestPolicyIsAskedAgainWhenItWantsToBe(t *testing.T) {
	policy := &noting{ruling: Ruling{State: Normal, Rate: 1, AskAfter: time.Minute}}
	tracker, err := New[string](policy)
	require.NoError(t, err)
	_, ok := tracker.Next(epoch)
	require.False(t, ok)
	tracker.Set("n", zoneA, good)
	tracker.Evaluate(epoch)
	next, ok := tracker.Next(epoch)
	require.True(t, ok)
	require.Equal(t, epoch.Add(time.Minute), next)
	require.Nil(t, tracker.Evaluate(next.Add(-1)))
	require.Len(t, policy.asked, 1, "not before")

	tracker.Set("m", zoneB, good)
	policy.ruling.AskAfter = 2 * time.Minute
	tracker.Evaluate(epoch.Add(30 * time.Second))
	require.Len(t, policy.asked, 3, "a count changed")
	policy.ruling.Rate = 2
	require.Len(t, tracker.Evaluate(epoch.Add(150*time.Second)), 2)
	require.Len(t, policy.asked, 5)
	policy.ruling.AskAfter = 0
	tracker.Set("m", zoneB, bad)
	require.Nil(t, tracker.Evaluate(epoch.Add(150*time.Second)))
	require.Len(t, policy.asked, 7)
	_, ok = tracker.Next(epoch)
	require.False(t, ok)
	require.Nil(t, tracker.Evaluate(epoch.Add(time.Hour)))
	require.Len(t, policy.asked, 7, "never again")
	policy.ruling.AskAfter = 1<<63 - 1
	tracker.Set("m", zoneB, good)
	tracker.Evaluate(epoch.Add(2 * time.Hour))
	_, ok = tracker.Next(epoch)
	require.False(t, ok, "292 years ahead is never")
}

// The first AskAfter decides when all are asked. It is for each zone to say, and every zone is told apart.
func TestTheFirstWhoseTimeHasComeHasAllAsked(t *testing.T) {
	asked := map[string]int{}
	tracker, err := New[string](PolicyFunc(func(s Situation) Ruling {
		if s.Zone.Zone == "plain" {
			return DefaultPolicy().Decide(s)
		}
		asked[s.Zone.Zone]++
		return Ruling{State: Normal, AskAfter: map[string]time.Duration{"slow": time.Hour, "fast": time.Minute}[s.Zone.Zone]}
	}))
	require.NoError(t, err)
	for _, pool := range []string{"slow", "plain", "fast"} {
		tracker.Set(pool, Key{Zone: pool}, good)
	}
	for second := range 3600 {
		tracker.Evaluate(epoch.Add(time.Duration(second) * time.Second))
	}
	require.Equal(t, map[string]int{"slow": 60, "fast": 60}, asked)
	status, _ := tracker.Zone(Key{Zone: "plain"})
	require.Equal(t, 0.1, status.Rate)
}

// Setting the wall clock changes no time to ask again. Only without monotonic readings does a jump forward count as time.
func TestSetWallClock(t *testing.T) {
	for _, c := range clockcases.Cases() {
		t.Run(c.String(), func(t *testing.T) {
			clk := c.Clock()
			policy := &noting{ruling: Ruling{State: Normal, AskAfter: 30 * 24 * time.Hour}}
			tracker, err := New[string](policy)
			require.NoError(t, err)
			tracker.Set("n", zoneA, bad)
			tracker.Evaluate(clk.Now())
			clk.Pass(10 * time.Second)
			tracker.Evaluate(clk.Now())
			clk.Set(c.Set)
			next, ok := tracker.Next(clk.Now())
			require.True(t, ok)
			left := 30*24*time.Hour - 10*time.Second - c.Counts()
			require.Equal(t, left, next.Sub(clk.Now()))
			clk.Pass(left - 1)
			tracker.Evaluate(clk.Now())
			require.Len(t, policy.asked, 1)
			clk.Pass(1)
			tracker.Evaluate(clk.Now())
			require.Len(t, policy.asked, 2)
			require.Equal(t, clk.Now(), policy.asked[1].Now)
		})
	}
}

// AskAfter counts from the reading that the evaluation was given, though another came while the policy was asked.
func TestAskAfterCountsFromTheEvaluation(t *testing.T) {
	var tracker *Tracker[string]
	tracker, err := New[string](PolicyFunc(func(s Situation) Ruling {
		tracker.Next(s.Now.Add(50 * time.Second))
		return Ruling{State: Normal, AskAfter: 100 * time.Second}
	}))
	require.NoError(t, err)
	tracker.Set("n", zoneA, good)
	tracker.Evaluate(epoch)
	next, _ := tracker.Next(epoch.Add(50 * time.Second))
	require.Equal(t, epoch.Add(100*time.Second), next)
}
