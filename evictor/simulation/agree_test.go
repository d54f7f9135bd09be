package simulation

import (
	"context"
	"math/rand"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/scenario"
)

// jumbled returns a scenario of events that need not make sense, often several at one instant.
func jumbled(t *testing.T, seed int64) *scenario.Scenario {
	r := rand.New(rand.NewSource(seed))
	s := &scenario.Scenario{Until: at(20 * time.Minute), Cluster: scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 3, PodsPerNode: 1}, {Name: "b", Nodes: 4}}}}
	if r.Intn(2) == 0 {
		s.Reschedule = &scenario.Reschedule{}
	}
	if r.Intn(2) == 0 {
		trace, err := scenario.NewTrace(60, []int{4, 1, 3, 0, 2, 4, 1})
		require.NoError(t, err)
		s.Availability = []scenario.ZoneTrace{{Zone: ptr("b"), File: "b", Trace: trace}}
		if r.Intn(2) == 0 {
			s.Availability[0].Scale = ptr(1)
		}
	}
	node := func() string {
		return []string{"a-000", "a-001", "a-002", "b-000", "b-001", "b-002", "b-003", "b-004"}[r.Intn(8)]
	}
	for range 25 {
		e := scenario.Event{At: at(time.Duration(r.Intn(10)) * 30 * time.Second)}
		switch r.Intn(8) {
		case 0:
			e.Fail = &scenario.Selector{Node: node()}
		case 1:
			e.Recover = &scenario.Selector{Zone: ptr("a")}
		case 2, 3:
			e.Condition = &scenario.Condition{Selector: scenario.Selector{Node: node()}, Type: "Ready", Status: "True"}
		case 4:
			e.DeleteNode = &scenario.Selector{Node: node()}
		case 5:
			n := node()
			e.AddNode = &scenario.AddNode{Name: n, Zone: n[:1], PodsPerNode: 1}
		case 6:
			e.AddPod = &scenario.AddPod{Name: "x", Node: node()}
		case 7:
			e.DeletePod = &scenario.DeletePod{Name: []string{"x", "a-000-p0", "a-001-p0"}[r.Intn(3)]}
		}
		s.Events = append(s.Events, e)
	}
	return s
}

var regexpOfPlace = regexp.MustCompile(`^event (\d+)[ ,]`)

// Scenarios that Check accepts can be played, except for names of pods that still exist, because they are evicted or
// deleted on silent nodes.
func TestCheckedScenariosPlay(t *testing.T) {
	for seed := range int64(400) {
		s := jumbled(t, seed)
		for {
			err := s.Check(nil)
			if err == nil {
				break
			}
			m := regexpOfPlace.FindStringSubmatch(err.Error())
			require.NotNil(t, m, err)
			n, _ := strconv.Atoi(m[1])
			s.Events = append(s.Events[:n-1:n-1], s.Events[n:]...)
		}
		if _, err := Play(context.Background(), s, New(&Clock{}), Options{}); err != nil {
			require.Regexp(t, `^event \d+ \(at .*\): pod \S+ already exists$`, err.Error(), seed)
		}
	}
}
