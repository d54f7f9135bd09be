package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// told is that the evictor is told between two times, both included, whether it sees the cluster well enough.
type told struct {
	well     bool
	from, to time.Duration
}

// observed is a target that keeps what it was told of the observer, and when.
type observed struct {
	target
	since func() time.Duration
	told  []told
}

func (o *observed) SetObserverHealth(err error) {
	o.told = append(o.told, told{err == nil, o.since(), o.since()})
}

// What happens to the API and to the watch of leases of two nodes.
var bothNodes = simulation.Nodes{Names: []string{"a-000", "a-001"}}

func api(at time.Duration, state, of string) simulation.Event {
	return simulation.Event{At: at, API: &simulation.API{State: state, For: of}}
}

func down(at time.Duration) simulation.Event { return api(at, simulation.APIDown, "evictor") }
func up(at time.Duration) simulation.Event   { return api(at, simulation.APIUp, "evictor") }

func slow(at, latency time.Duration) simulation.Event {
	return simulation.Event{At: at, API: &simulation.API{State: "slow", Latency: latency, For: "evictor"}}
}

func unrenewed(at time.Duration) simulation.Event { return api(at, simulation.APIDown, "kubelets") }
func renewed(at time.Duration) simulation.Event   { return api(at, simulation.APIUp, "kubelets") }

func blind(at time.Duration) simulation.Event {
	return simulation.Event{At: at, LoseLeases: &simulation.LoseLeases{Nodes: bothNodes}}
}

func seeing(at time.Duration) simulation.Event {
	return simulation.Event{At: at, ShowLeases: &bothNodes}
}

// Bounds on when the guard tells. It allows a silence of 20 s, in which it looks eight times; kubelets renew every 10 s.
const (
	silence  = 20 * time.Second
	interval = 10 * time.Second
	look     = silence / 8
)

// notSeen is told when nothing has been seen from that time on: the silence counts from the last renewal that was seen. later is
// how much later it may be, and for how long at least it waits for answers.
func notSeen(from, later, waits time.Duration) told {
	return told{from: from + silence - interval + waits, to: from + silence + look + later}
}

// seen is told when everything is seen again; kubelets may need to wait for their next turn.
func seen(from time.Duration) told { return told{well: true, from: from, to: from + silence} }

// TestTheGuardIsPlayedByItsRules: how and when an evictor hears what befalls the API and its watches.
func TestTheGuardIsPlayedByItsRules(t *testing.T) {
	const (
		begins  = 61 * time.Second
		reading = 95 * time.Second
		ends    = 181 * time.Second
		hides   = interval + look // a kubelet must have renewed unseen, and the next look decides
		waits   = silence / 2     // for answers
	)
	type events = []simulation.Event
	for _, c := range []struct {
		name   string
		events events
		told   []told
	}{
		{"all is well", nil, nil},
		{"the API is down for everybody", events{down(begins), unrenewed(begins), up(ends), renewed(ends)}, []told{notSeen(begins, 0, 0), seen(ends)}},
		{"the API is down for controllers", events{down(begins), up(ends)}, []told{notSeen(begins, 0, 0), seen(ends)}},
		{"the API is down for less than a silence", events{down(begins), up(begins + 5*time.Second)}, nil},
		{"no kubelet reaches the API", events{unrenewed(begins), renewed(ends)}, nil},
		{"the watch of leases stands still", events{blind(begins), seeing(ends)}, []told{notSeen(begins, hides, 0), seen(ends)}},
		{"the watch of leases stands still for less than a silence", events{blind(begins), seeing(begins + 8*time.Second)}, nil},
		{"a watch that stands still while no kubelet reaches the API hides nothing", events{unrenewed(begins), blind(begins), seeing(ends), renewed(ends)}, nil},
		{"a slow API while leases advance", events{slow(begins, 8*time.Second), up(ends)}, nil},
		{"a slow API while no lease advances", events{slow(begins, 8*time.Second), unrenewed(begins), up(ends), renewed(ends)},
			[]told{notSeen(begins, waits, waits), seen(ends)}},
		{"an API that is slow no longer while no lease advances", events{slow(begins, 8*time.Second), unrenewed(begins), up(reading), renewed(ends)},
			[]told{notSeen(begins, waits, waits), seen(reading)}},
		{"an API that answers in time while no lease advances", events{slow(begins, time.Second), unrenewed(begins), up(ends), renewed(ends)}, nil},
		{"a watch that stands still on a slow API", events{slow(begins, 8*time.Second), blind(begins), up(ends), seeing(ends)},
			[]told{notSeen(begins, hides+2*waits, waits), seen(ends)}},
		{"a watch that goes on between two looks", events{slow(begins, 8*time.Second), blind(begins), seeing(begins + 25*time.Second), up(ends)}, nil},
		{"the API goes down while leases are read", events{slow(begins, time.Second), unrenewed(begins), down(reading), up(ends), renewed(ends)},
			[]told{{from: reading, to: reading + look + 2*time.Second}, seen(ends)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := simulation.Scenario{Zones: []simulation.Zone{{Name: "a", Nodes: 2}}, Events: c.events, Until: 6 * time.Minute}
			var heard *observed
			play(t, s, func(w *simulation.World) (simulation.Controller, error) {
				began := w.Clock().Now()
				heard = &observed{since: func() time.Duration { return w.Clock().Since(began) }}
				require.NoError(t, w.Clients().Source.Feed(heard))
				return stepping(func(*simulation.World, time.Duration) (time.Duration, error) { return 0, nil })(w)
			})
			require.Len(t, heard.told, len(c.told), heard.told)
			for i, is := range heard.told {
				require.Equal(t, c.told[i].well, is.well)
				require.GreaterOrEqual(t, is.from, c.told[i].from)
				require.LessOrEqual(t, is.from, c.told[i].to)
			}
		})
	}
}
