// Package guardcases has one table of what may befall the API and its watches, and of what the guard of package clientgo
// tells an evictor then. It tests both the guard and its simulation.
//
// There is no case of a process that is suspended: in a simulation the controllers always run, and have no clock of their
// own that could stand still. Tests of package clientgo play it.
package guardcases

import "time"

// What happens at a time of a case.
type What string

// All that may happen. Each pair ends what it began.
const (
	Down       What = "the API is down for controllers"
	Up         What = "the API is up for controllers"
	Blind      What = "the watch of leases stands still"
	Seeing     What = "the watch of leases goes on"
	NoRenewals What = "no kubelet reaches the API"
	Renewals   What = "kubelets reach the API"
	Slow       What = "each call takes the case's latency"
	Fast       What = "calls take no time"
)

// Change is something that happens at that time, counted from the start of the guard.
type Change struct {
	At   time.Duration
	What What
}

// Told is that the evictor is told between From and To, both included, whether it sees the cluster well enough.
type Told struct {
	Well     bool
	From, To time.Duration
}

// Case is a cluster of two nodes that renew their leases every 10 s, and a guard that allows a silence of 20 s.
type Case struct {
	Name    string
	Latency time.Duration // of each call while the API is slow
	Changes []Change
	Told    []Told // all that the evictor is told within Until
}

// Until is how long a case lasts.
const Until = 6 * time.Minute

// Bounds on when the guard tells. It looks eight times in its silence.
const (
	silence  = 20 * time.Second
	interval = 10 * time.Second
	look     = silence / 8
)

// blind is told when nothing has been seen from that time on: the silence counts from the last renewal that was seen.
func blind(from time.Duration) Told {
	return Told{From: from + silence - interval, To: from + silence + look}
}

// back is told when the API is back: while the API answers with errors, client-go retries within 60 s, jitter included.
// The simulation does so at once, as clientgo does while nobody answers.
func back(from time.Duration) Told {
	return Told{Well: true, From: from, To: from + time.Minute + look}
}

// well is told when everything is seen again; kubelets may need to wait for their next turn.
func well(from time.Duration) Told { return Told{Well: true, From: from, To: from + silence} }

const (
	begins  = 61 * time.Second
	reading = 95 * time.Second
	ends    = 181 * time.Second
)

// Cases returns the table.
func Cases() []Case {
	still := blind(begins)
	still.To += interval + look // a kubelet must have renewed unseen, and the next look decides
	slow, twice := blind(begins), still
	slow.From, slow.To = slow.From+silence/2, slow.To+silence/2 // it waits half a silence for answers
	twice.From, twice.To = twice.From+silence/2, twice.To+silence
	return []Case{
		{Name: "all is well"},
		{Name: "the API is down for everybody", Changes: []Change{{begins, Down}, {begins, NoRenewals}, {ends, Up}, {ends, Renewals}},
			Told: []Told{blind(begins), back(ends)}},
		{Name: "the API is down for controllers", Changes: []Change{{begins, Down}, {ends, Up}}, Told: []Told{blind(begins), back(ends)}},
		{Name: "the API is down for less than a silence", Changes: []Change{{begins, Down}, {begins + 5*time.Second, Up}}},
		{Name: "no kubelet reaches the API", Changes: []Change{{begins, NoRenewals}, {ends, Renewals}}},
		{Name: "the watch of leases stands still", Changes: []Change{{begins, Blind}, {ends, Seeing}}, Told: []Told{still, well(ends)}},
		{Name: "the watch of leases stands still for less than a silence", Changes: []Change{{begins, Blind}, {begins + 8*time.Second, Seeing}}},
		{Name: "a watch that stands still while no kubelet reaches the API hides nothing",
			Changes: []Change{{begins, NoRenewals}, {begins, Blind}, {ends, Seeing}, {ends, Renewals}}},
		{Name: "a slow API while leases advance", Latency: 8 * time.Second, Changes: []Change{{begins, Slow}, {ends, Fast}}},
		{Name: "a slow API while no lease advances", Latency: 8 * time.Second,
			Changes: []Change{{begins, Slow}, {begins, NoRenewals}, {ends, Fast}, {ends, Renewals}}, Told: []Told{slow, well(ends)}},
		{Name: "an API that is slow no longer while no lease advances", Latency: 8 * time.Second,
			Changes: []Change{{begins, Slow}, {begins, NoRenewals}, {reading, Fast}, {ends, Renewals}}, Told: []Told{slow, well(reading)}},
		{Name: "an API that answers in time while no lease advances", Latency: time.Second,
			Changes: []Change{{begins, Slow}, {begins, NoRenewals}, {ends, Fast}, {ends, Renewals}}},
		{Name: "a watch that stands still on a slow API", Latency: 8 * time.Second,
			Changes: []Change{{begins, Slow}, {begins, Blind}, {ends, Fast}, {ends, Seeing}}, Told: []Told{twice, well(ends)}},
		{Name: "a watch that goes on between two looks", Latency: 8 * time.Second,
			Changes: []Change{{begins, Slow}, {begins, Blind}, {begins + 25*time.Second, Seeing}, {ends, Fast}}},
		{Name: "the API goes down while leases are read", Latency: time.Second,
			Changes: []Change{{begins, Slow}, {begins, NoRenewals}, {reading, Down}, {ends, Fast}, {ends, Up}, {ends, Renewals}},
			Told:    []Told{{From: reading, To: reading + look + 2*time.Second}, back(ends)}},
	}
}

// Fault says what is wrong with what was told, or returns "".
func (c *Case) Fault(told []Told) string {
	for i, t := range told {
		if i >= len(c.Told) {
			return "told once more, at " + t.From.String()
		}
		if want := c.Told[i]; t.Well != want.Well || t.From < want.From || t.From > want.To {
			return "told at " + t.From.String() + ", not from " + want.From.String() + " to " + want.To.String()
		}
	}
	if len(told) < len(c.Told) {
		return "not told by " + c.Told[len(told)].To.String()
	}
	return ""
}
