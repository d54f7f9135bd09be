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

func (n *noting) last() Situation { return n.asked[len(n.asked)-1] }

func TestPolicyIsAskedAgainWhenItWantsToBe(t *testing.T) {
	policy := &noting{ruling: Ruling{State: Normal, Rate: 1, AskAfter: time.Minute}}
	tracker, err := New[string](Config[string]{Policy: policy})
	require.NoError(t, err)
	_, ok := tracker.NextAt(epoch)
	require.False(t, ok)
	tracker.Set("n", "a", good)
	tracker.EvaluateAt(epoch)
	next, ok := tracker.NextAt(epoch)
	require.True(t, ok)
	require.Equal(t, epoch.Add(time.Minute), next)
	require.Nil(t, tracker.EvaluateAt(next.Add(-1)))
	require.Len(t, policy.asked, 1, "not before")

	tracker.Set("m", "b", good)
	policy.ruling.AskAfter = 2 * time.Minute
	tracker.EvaluateAt(epoch.Add(30 * time.Second))
	require.Len(t, policy.asked, 3, "a count changed")
	policy.ruling.Rate = 2
	tracker.EvaluateAt(epoch.Add(150 * time.Second))
	require.Len(t, policy.asked, 5)
	policy.ruling.AskAfter = 0
	tracker.Reconsider()
	require.Nil(t, tracker.EvaluateAt(epoch.Add(150*time.Second)))
	require.Len(t, policy.asked, 7)
	_, ok = tracker.NextAt(epoch)
	require.False(t, ok)
	require.Nil(t, tracker.Evaluate())
	require.Len(t, policy.asked, 7, "never again")
	policy.ruling.AskAfter = 1<<63 - 1
	tracker.Reconsider()
	tracker.EvaluateAt(epoch.Add(151 * time.Second))
	_, ok = tracker.NextAt(epoch)
	require.False(t, ok, "292 years ahead is never")
}

// A policy is asked again only about domains whose AskAfter has passed.
func TestOnlyThoseWhoseTimeHasComeAreAsked(t *testing.T) {
	asked := map[string]int{}
	tracker, err := New[string](Config[string]{Policy: DefaultPolicy(), PolicyOf: func(pool string) Policy {
		if pool == "plain" {
			return nil
		}
		return PolicyFunc(func(Situation) Ruling {
			asked[pool]++
			return Ruling{State: Normal, AskAfter: map[string]time.Duration{"slow": time.Hour, "fast": time.Minute}[pool]}
		})
	}})
	require.NoError(t, err)
	for _, pool := range []string{"slow", "plain", "fast"} {
		tracker.Set(pool, pool, good)
	}
	tracker.EvaluateAt(epoch)
	for minute := range 60 {
		tracker.EvaluateAt(epoch.Add(time.Duration(minute) * time.Minute))
	}
	require.Equal(t, map[string]int{"slow": 1, "fast": 60}, asked)
	status, _ := tracker.Zone("plain")
	require.Equal(t, 0.1, status.Rate, "without a policy of its own")
}

// Setting the wall clock changes no age and no time to ask again. Only without monotonic readings does a jump forward
// count as time.
func TestSetWallClock(t *testing.T) {
	for _, c := range clockcases.Cases() {
		t.Run(c.String(), func(t *testing.T) {
			clk := c.Clock()
			policy := &noting{ruling: Ruling{State: Normal, AskAfter: 30 * 24 * time.Hour}}
			tracker, err := New[string](Config[string]{Policy: policy, Clock: clk})
			require.NoError(t, err)
			tracker.Set("n", "a", bad)
			tracker.Evaluate()
			clk.Pass(10 * time.Second)
			tracker.Evaluate()
			clk.Set(c.Set)
			next, ok := tracker.Next()
			require.True(t, ok)
			left := 30*24*time.Hour - 10*time.Second - c.Counts()
			require.Equal(t, left, next.Sub(clk.Now()))
			clk.Pass(5 * time.Second)
			tracker.Set("m", "a", good)
			tracker.Evaluate()
			require.Equal(t, 15*time.Second+c.Counts(), policy.last().StateFor)
			require.Equal(t, 15*time.Second+c.Counts(), policy.last().BadFor)
		})
	}
}

// The clock is read only when somebody needs the time: for the standard policy, not while nothing changes.
func TestClockIsReadWhenItMatters(t *testing.T) {
	for name, row := range map[string]struct {
		policy Policy
		want   int
	}{
		"standard": {DefaultPolicy(), 1}, // when the zone began
		"other":    {PolicyFunc(cautious), 2},
	} {
		t.Run(name, func(t *testing.T) {
			clk := &counting{}
			tracker, err := New[string](Config[string]{Policy: row.policy, Clock: clk})
			require.NoError(t, err)
			tracker.Set("n", "a", good)
			tracker.Evaluate()
			tracker.Evaluate()
			tracker.Set("m", "a", bad)
			tracker.Evaluate()
			tracker.Evaluate()
			require.Equal(t, row.want, clk.readings)
		})
	}
}

type counting struct{ readings int }

func (c *counting) Now() time.Time {
	c.readings++
	return epoch
}

func (c *counting) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
