package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// The guard looks eight times in its silence, counted from its start.
func TestWhenTheGuardLooks(t *testing.T) {
	const began = 7 * time.Second
	for grace, every := range map[time.Duration]time.Duration{40 * time.Second: 2 * time.Second, 50 * time.Second: 2500 * time.Millisecond, 2 * time.Minute: 2500 * time.Millisecond} {
		g := newGuard(grace, began)
		for at, next := range map[time.Duration]time.Duration{began: began + every, began + every: began + every, began + every + 1: began + 2*every} {
			require.Equal(t, next, g.from(at), "grace period %v, from %v", grace, at)
		}
	}
}

// guardTells plays events on a zone of so many nodes, whose renewals are spread evenly over 10 seconds, and returns when the
// guard tells that it sees the cluster no longer, or again.
func guardTells(t *testing.T, nodes int, events ...Event) (at []time.Duration) {
	lines, _, _ := told(t, newCluster(clockOf(nil)), Scenario{
		Zones: []Zone{{Name: "a", Nodes: nodes}}, Until: 3 * time.Minute, Config: evictor.DefaultConfig(), Events: events,
	})
	for _, l := range of(lines, timeline.KindEvent) {
		if strings.Contains(l.More, `"by":"guard"`) {
			at = append(at, l.T)
		}
	}
	return at
}

// It reads three leases at each look, those that were seen last first. If their nodes are dead, later looks read others. A node
// that is deleted has no lease. The look after the one that reads the only lease that advances tells. Once something is
// seen, it begins with the last again.
func TestTheGuardFindsTheNodeThatLives(t *testing.T) {
	all := Nodes{Zone: "a"}
	dead := []string{"a-000", "a-011", "a-010", "a-009", "a-008", "a-007", "a-006", "a-004", "a-003", "a-002", "a-001"} // and a-005 lives
	for deleted, tells := range []time.Duration{87500 * time.Millisecond, 87500 * time.Millisecond, 85 * time.Second} {
		events := []Event{{At: 60500 * time.Millisecond, LoseLeases: &LoseLeases{Nodes: all}}, {At: 60500 * time.Millisecond, Fail: named(dead...)}}
		if deleted > 0 {
			events = append(events, Event{At: 61 * time.Second, DeleteNode: named(dead[:deleted]...)})
		}
		events = append(events, Event{At: 100 * time.Second, ShowLeases: &all}, Event{At: 110 * time.Second, LoseLeases: &LoseLeases{Nodes: all}})
		require.Equal(t, []time.Duration{tells, 105 * time.Second, 127500 * time.Millisecond}, guardTells(t, 12, events...), deleted)
	}
}

// A lease that the watch still hides when others are seen again says nothing later: the guard reads anew, and looks twice.
func TestTheGuardForgetsWhatItReadOnceItSees(t *testing.T) {
	require.Equal(t, []time.Duration{82500 * time.Millisecond, 105 * time.Second, 147500 * time.Millisecond}, guardTells(t, 2,
		Event{At: 61 * time.Second, LoseLeases: &LoseLeases{Nodes: Nodes{Zone: "a"}}},
		Event{At: 100 * time.Second, ShowLeases: named("a-001")},
		Event{At: 130 * time.Second, LoseLeases: &LoseLeases{Nodes: *named("a-001")}},
	))
}

// A look takes as long as its reads, and at most half of the silence. It changes nothing before it ends.
func TestALookTakesItsTime(t *testing.T) {
	const begins = 61 * time.Second
	slow := func(at, latency time.Duration) Event {
		return Event{At: at, API: &API{State: APISlow, Latency: latency, For: ForEvictor}}
	}
	blind := Event{At: begins, LoseLeases: &LoseLeases{Nodes: Nodes{Zone: "a"}}}
	silent := Event{At: begins, API: &API{State: APIDown, For: ForKubelets}}
	for name, row := range map[string]struct {
		events []Event
		tells  []time.Duration
	}{
		"two looks read what was not seen":        {[]Event{blind, slow(begins, 3*time.Second)}, []time.Duration{88500 * time.Millisecond}},
		"nothing was to be seen, as a look finds": {[]Event{silent, slow(begins, 8*time.Second), slow(95*time.Second, time.Second)}, []time.Duration{90 * time.Second, 107 * time.Second}},
		"an API that is back, and a watch that is not": {[]Event{
			blind, {At: begins, API: &API{State: APIDown, For: ForEvictor}}, {At: 95 * time.Second, API: &API{State: APIUp, For: ForEvictor}},
		}, []time.Duration{80 * time.Second}},
	} {
		require.Equal(t, row.tells, guardTells(t, 2, row.events...), name)
	}
}

// lateOnes records the nodes whose renewals a watch shows late.
type lateOnes struct {
	watched
	late []string
}

func (l *lateOnes) LeaseShown(node string, _ time.Time) { l.late = append(l.late, node) }

// Watches that are broken twice are broken since the first time. Once they are back, they show what they have missed of nodes
// that exist, unless they lose the renewals of a node anyway.
func TestWatchesThatComeBackShowWhatTheyMissed(t *testing.T) {
	p, err := Scenario{Zones: []Zone{{Name: "a", Nodes: 3}}, Until: time.Hour}.player(newCluster(clockOf(nil)), nil)
	require.NoError(t, err)
	p.guard = newGuard(50*time.Second, 0)
	c := p.cluster
	shown := &lateOnes{}
	c.world = p.world
	p.world.targets = append(p.world.targets, shown)
	c.nodes[1].unseen = true
	c.DeleteNode(&c.nodes[2])
	for i := range c.nodes {
		c.nodes[i].renewed, c.nodes[i].missed = 5, true
	}
	p.watchesBreak(false)
	require.Empty(t, shown.late, "they were not broken")
	p.watchesBreak(true)
	c.Clock.Set(time.Minute)
	p.watchesBreak(true)
	require.Zero(t, p.guard.broken)
	p.watchesBreak(false)
	require.Equal(t, []string{"a-000"}, shown.late)
	require.False(t, c.nodes[0].missed)
	require.Equal(t, []int64{5, 5}, []int64{c.nodes[0].seen, c.nodes[0].shown})
}
