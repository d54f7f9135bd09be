package simulation

import (
	"context"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// jumbled returns a scenario of events that need not make sense, often several at one instant.
func jumbled(seed int64) Scenario {
	r := rand.New(rand.NewSource(seed))
	s := Scenario{Until: 20 * time.Minute, Zones: []Zone{{Name: "a", Nodes: 3, PodsPerNode: 1}, {Name: "b", Nodes: 4}}, ReplaceAfter: -1}
	if r.Intn(2) == 0 {
		s.ReplaceAfter = 0
	}
	if r.Intn(2) == 0 {
		s.Traces = []Trace{{Zone: "b", Gap: time.Minute, Alive: []int{4, 1, 3, 0, 2, 4, 1}}}
		if r.Intn(2) == 0 {
			s.Traces[0].Scale = 1
		}
	}
	node := func() string {
		return []string{"a-000", "a-001", "a-002", "b-000", "b-001", "b-002", "b-003", "b-004"}[r.Intn(8)]
	}
	for range 25 {
		e := Event{At: time.Duration(r.Intn(10)) * 30 * time.Second}
		switch r.Intn(8) {
		case 0:
			e.Fail = named(node())
		case 1:
			e.Recover = &Nodes{Zone: "a"}
		case 2, 3:
			e.Condition = &Condition{Nodes: Nodes{Names: []string{node()}}, Type: "Ready", Status: "True"}
		case 4:
			e.DeleteNode = named(node())
		case 5:
			n := node()
			e.AddNode = &AddNode{Name: n, Zone: n[:1], PodsPerNode: 1}
		case 6:
			e.AddPod = &AddPod{Name: "x", Node: node()}
		case 7:
			e.DeletePod = &Pod{Name: []string{"x", "a-000-p0", "a-001-p0"}[r.Intn(3)]}
		}
		s.Events = append(s.Events, e)
	}
	return s
}

// Scenarios without faults can be played, except for names of pods that still exist, because they are evicted or
// deleted on silent nodes.
func TestCheckedScenariosPlay(t *testing.T) {
	for seed := range int64(400) {
		s := sensible(t, jumbled(seed))
		if _, err := Play(context.Background(), s); err != nil {
			require.Regexp(t, `^simulation: event \d+ \(at .*\): addPod: pod \S+ already exists$`, err.Error(), seed)
		}
	}
}
