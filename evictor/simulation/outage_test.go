package simulation_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// outage is a scenario of two zones whose pods tolerate little, and of an API that is down for some time.
func outage(from, lasts time.Duration, events ...simulation.Event) simulation.Scenario {
	seconds := simulation.TolerationSeconds(30)
	s := simulation.Scenario{Until: from + lasts + 20*time.Minute}
	for _, name := range []string{"a", "b"} {
		s.Zones = append(s.Zones, simulation.Zone{Name: name, Nodes: 20, PodsPerNode: 2, TolerationSeconds: &seconds})
	}
	s.Events = append(events,
		simulation.Event{At: from, API: &simulation.API{State: simulation.APIDown}},
		simulation.Event{At: from + lasts, API: &simulation.API{State: simulation.APIUp}})
	return s
}

// An outage of the API condemns no node that lives, however long it lasts and whenever it begins.
func TestAnOutageOfTheAPICondemnsNobody(t *testing.T) {
	for _, grace := range []time.Duration{40 * time.Second, 50 * time.Second} {
		for _, elects := range []bool{true, false} {
			for from := 300 * time.Second; from < 320*time.Second; from += 3 * time.Second {
				for lasts := 10 * time.Second; lasts <= 10*time.Minute; lasts += 5*time.Second + lasts/7 {
					s := outage(from, lasts.Truncate(100*time.Millisecond))
					s.Config = evictor.DefaultConfig()
					s.Config.Nodes.NodeMonitorGracePeriod, s.NoLeaderElection = grace, !elects
					r, err := simulation.Play(context.Background(), s)
					require.NoError(t, err)
					about := fmt.Sprintf("grace %v, election %t, from %v for %v", grace, elects, from, lasts)
					require.Zero(t, r.UnknownNodes, about)
					require.Zero(t, r.TaintedNodes, about)
					require.Zero(t, r.Evicted, about)
				}
			}
		}
	}
}

// recorded plays a scenario and returns its timeline.
func recorded(t *testing.T, s simulation.Scenario) (r *simulation.Report, lines []timeline.Line) {
	t.Helper()
	s.Timeline = func(l timeline.Line) error {
		lines = append(lines, l)
		return nil
	}
	r, err := simulation.Play(context.Background(), s)
	require.NoError(t, err)
	return r, lines
}

// first returns when the first line of that kind was written about a node.
func first(lines []timeline.Line, kind timeline.Kind, node string) time.Duration {
	for i := range lines {
		if lines[i].Kind == kind && lines[i].Node == node {
			return lines[i].T
		}
	}
	return 0
}

// A node that dies in an outage of the API is found a grace period after its end, because the clocks begin anew.
func TestANodeThatDiesInAnOutageIsFoundAfterIt(t *testing.T) {
	const died = 6 * time.Minute
	found := time.Duration(0)
	for lasts := 2 * time.Minute; lasts <= 6*time.Minute; lasts += 7 * time.Second {
		s := outage(5*time.Minute, lasts, simulation.Event{At: died, Fail: &simulation.Nodes{Names: []string{"a-000"}}})
		r, lines := recorded(t, s)
		back := 5*time.Minute + lasts
		at := first(lines, timeline.KindCondition, "a-000")
		require.GreaterOrEqual(t, at, back+50*time.Second, "a grace period after the return at %v", back)
		require.LessOrEqual(t, at, back+61*time.Second, "and a look and a pass")
		require.GreaterOrEqual(t, at, found, "a longer outage never makes it sooner")
		found = at
		require.Equal(t, 1, r.TaintedNodes)
		require.Equal(t, 2, r.Evicted)
		require.Equal(t, at+30*time.Second, r.FirstEviction, "what its pods tolerate later")
	}
}

// What needs the API waits until it is back: people, replacements, new nodes. What happens to machines does not wait.
func TestWhatNeedsTheAPIWaits(t *testing.T) {
	one := func(name string) simulation.Nodes { return simulation.Nodes{Names: []string{name}} }
	cordoned, failed, replaced, late := one("b-000"), one("b-001"), one("b-002"), one("new")
	s := outage(5*time.Minute, 10*time.Minute,
		simulation.Event{At: time.Minute, Fail: &simulation.Nodes{Names: []string{"a-000"}}},
		simulation.Event{At: 6 * time.Minute, Cordon: &cordoned},
		simulation.Event{At: 6 * time.Minute, Fail: &failed},
		simulation.Event{At: 6 * time.Minute, ReplaceNode: &simulation.ReplaceNode{Nodes: replaced, After: time.Minute}},
		simulation.Event{At: 7 * time.Minute, AddNode: &simulation.AddNode{Name: "new", Zone: "b"}},
		simulation.Event{At: 8 * time.Minute, Fail: &late},
	)
	s.Until = time.Hour
	_, lines := play(t, s)
	var waited, after []string
	for i := range lines {
		switch l, at := &lines[i], time.Duration(lines[i].T)*time.Second; {
		case l.Kind == "schedule":
			require.False(t, at > 5*time.Minute && at < 15*time.Minute, "a pod was bound at %v", at)
		case l.Kind != "event" || l.By != "":
		case at < 15*time.Minute:
			waited = append(waited, fmt.Sprint(at, " ", l.Text))
		default:
			after = append(after, fmt.Sprint(at, " ", l.Text))
		}
	}
	const waits = ": waits until the API is back"
	require.ElementsMatch(t, []string{
		"1m0s fail node a-000", "5m0s api down", "6m0s cordon node b-000" + waits, "6m0s fail node b-001",
		"6m0s replaceNode node b-002" + waits, "7m0s addNode new" + waits, "8m0s fail node new" + waits,
	}, waited)
	require.ElementsMatch(t, []string{
		"15m0s api up", "15m0s cordon node b-000", "15m0s replaceNode node b-002", "15m0s addNode new", "15m0s fail node new",
		"16m0s the new nodes register",
	}, after, "a minute after the old node was deleted, as it says")
}

// Nobody works on a replacement while the API is down. What was left of the wait before is left afterwards.
func TestReplacementsMakeNoHeadwayInAnOutage(t *testing.T) {
	const down, back, takes = 5 * time.Minute, 15 * time.Minute, 10 * time.Second
	for evicted, bound := range map[time.Duration]time.Duration{
		down - takes - 1: down - 1, down - takes: back, down - 9*time.Second: back + time.Second, down - time.Second: back + 9*time.Second,
	} {
		drain := simulation.Drain{Nodes: simulation.Nodes{Names: []string{"a-000"}}}
		_, lines := recorded(t, outage(down, back-down, simulation.Event{At: evicted, Drain: &drain}))
		at := slices.IndexFunc(lines, func(l timeline.Line) bool { return l.Kind == timeline.KindSchedule })
		require.Equal(t, bound, lines[at].T, evicted)
	}
}

// A zone that is lost around an outage of the API is found as late as the outage's end makes it, and never sooner than a
// grace period after both; one that was found before stays found.
func TestALostZoneAroundAnOutageIsFoundInItsTime(t *testing.T) {
	const begins, grace = 5 * time.Minute, 50 * time.Second
	for _, row := range []struct {
		name       string
		at         time.Duration
		afterwards bool // counted from the outage's end
	}{
		{"long before", 3 * time.Minute, false}, {"just before", begins - 10*time.Second, false},
		{"during", begins + 30*time.Second, false}, {"after", 20 * time.Second, true},
	} {
		found := time.Duration(0)
		for lasts := time.Minute; lasts <= 6*time.Minute; lasts += 17 * time.Second {
			at, back := row.at, begins+lasts
			if row.afterwards {
				at += back
			}
			r, lines := recorded(t, outage(begins, lasts, simulation.Event{At: at, Fail: &simulation.Nodes{Zone: "a"}}))
			about := fmt.Sprintf("%s, outage of %v", row.name, lasts)
			require.Equal(t, 20, r.UnknownNodes, about)
			require.Equal(t, 20, r.TaintedNodes, about)
			require.Equal(t, 40, r.Evicted, about)
			require.Zero(t, r.EvictedFromLiveNodes, about)
			is, right := first(lines, timeline.KindCondition, "a-000"), max(at-10*time.Second, back)+grace
			if row.name == "long before" {
				right = at - 10*time.Second + grace
			}
			require.GreaterOrEqual(t, is, right, about)
			require.LessOrEqual(t, is, right+21*time.Second, about+": a renewal, a look and a pass later")
			require.GreaterOrEqual(t, is, found, about+": a longer outage never makes it sooner")
			found = is
		}
	}
}

// While calls time out, nobody leads; while the watch of all leases stands still, nobody sees. Either way a node that is
// dead is found once that ends, and no other is touched.
func TestASlowAPIAndABlindWatchCondemnNobodyAlive(t *testing.T) {
	const begins, grace, look, pass = 5 * time.Minute, 50 * time.Second, 2500 * time.Millisecond, 5 * time.Second
	all := simulation.Nodes{Labels: "!none"}
	slow := func(who string) [2]simulation.Event {
		return [2]simulation.Event{
			{API: &simulation.API{State: simulation.APISlow, Latency: 8 * time.Second, For: who}},
			{API: &simulation.API{State: simulation.APIUp, For: who}},
		}
	}
	blind := [2]simulation.Event{{LoseLeases: &simulation.LoseLeases{Nodes: all}}, {ShowLeases: &all}}
	for _, row := range []struct {
		name   string
		ends   [2]simulation.Event
		dies   time.Duration // counted from the beginning
		waits  time.Duration // how long after the end the dead node is found at the earliest
		within time.Duration
	}{
		{"slow for controllers", slow(simulation.ForEvictor), 5 * time.Second, 0, pass}, // who takes over has watched it
		{"slow for all", slow(""), 5 * time.Second, 0, pass},
		{"blind", blind, -time.Second, grace, look + 2*pass}, // one notes that it is well, one counts
		// It renewed once more, unseen. A read shows that when a quarter of its grace period is left, and gives it another:
		// that is when the evictor first sees that renewal, and it does not trust the time in it.
		{"blind, and it renewed meanwhile", blind, 5 * time.Second, grace*3/4 + grace, look + 2*pass},
	} {
		for lasts := time.Minute; lasts <= 5*time.Minute; lasts += 17 * time.Second {
			s := outage(time.Second, time.Second) // too short for anybody to notice
			s.Until = begins + lasts + 15*time.Minute
			from, to := row.ends[0], row.ends[1]
			from.At, to.At = begins, begins+lasts
			s.Events = append(s.Events, from, simulation.Event{At: begins + row.dies, Fail: &simulation.Nodes{Names: []string{"a-000"}}}, to)
			r, lines := recorded(t, s)
			about := fmt.Sprintf("%s for %v", row.name, lasts)
			require.Equal(t, 1, r.UnknownNodes, about)
			require.Equal(t, 1, r.TaintedNodes, about)
			require.Equal(t, 2, r.Evicted, about)
			require.Zero(t, r.EvictedFromLiveNodes, about)
			is := first(lines, timeline.KindCondition, "a-000") - begins - lasts
			require.GreaterOrEqual(t, is, row.waits, about)
			require.LessOrEqual(t, is, row.waits+row.within, about)
		}
	}
}
