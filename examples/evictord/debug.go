package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/zone"
)

// state is the answer of /debug/evictor: what is pending, why, and until when.
type state struct {
	MayWrite  string          `json:"mayWrite"` // "yes", or why not
	Observer  string          `json:"seesWell"` // "yes", or what is missing or failing
	Brakes    *brakesState    `json:"brakes,omitempty"`
	Budget    []boundState    `json:"budget,omitempty"`
	AllDown   bool            `json:"allZonesDown"`
	Zones     []zone.Status   `json:"zones"`
	Waiting   []waitingNode   `json:"waitingNodes"`
	Evictions []armedEviction `json:"evictions"`
	Spared    []sparedNode    `json:"sparedNodes,omitempty"`
	Omitted   int             `json:"omitted,omitempty"` // how many entries the limit cut from these three lists
}

// debugged is what is told of.
type debugged struct {
	e                  controllers
	why                *explain.Ring
	mayWrite, observer func() error
	brakes             *brakes
	budget             *limits
}

// shownAtMost is the default limit of /debug/evictor, for each of its lists.
const shownAtMost = 1000

type waitingNode struct {
	Node  string     `json:"node"`
	Zone  string     `json:"zone"`
	Since time.Time  `json:"since"`
	Turn  *time.Time `json:"turn"` // null while the zone is stopped
}

type armedEviction struct {
	Pod     string    `json:"pod"`
	Node    string    `json:"node"`
	Due     time.Time `json:"due"`
	Attempt int       `json:"attempt,omitempty"`
	Why     string    `json:"why"`
}

// debugging serves /debug/evictor and /debug/pprof. ?explain=NODE or ?explain=NAMESPACE/POD returns the decisions about
// one; ?limit=N returns at most N entries of each list.
func debugging(d debugged) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/evictor", func(w http.ResponseWriter, r *http.Request) {
		if key := r.URL.Query().Get("explain"); key != "" {
			decisions := d.why.Explain(key)
			if len(decisions) == 0 {
				http.Error(w, fmt.Sprintf("no decision about %q in memory: give NODE or NAMESPACE/POD", key), http.StatusNotFound)
			}
			for _, decision := range decisions {
				fmt.Fprintln(w, decision)
			}
			return
		}
		limit := shownAtMost
		if asked := r.URL.Query().Get("limit"); asked != "" {
			var err error
			if limit, err = strconv.Atoi(asked); err != nil || limit < 0 {
				http.Error(w, fmt.Sprintf("limit=%s: must be a number of at least 0", asked), http.StatusBadRequest)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(d.state(limit)); err != nil {
			return // the client has gone
		}
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

func (d *debugged) state(limit int) state {
	s := state{
		MayWrite: told(d.mayWrite()), Observer: told(d.observer()), Brakes: d.brakes.state(), Budget: d.budget.state(), Zones: []zone.Status{}, Waiting: []waitingNode{}, Evictions: []armedEviction{},
	}
	if nodes := d.e.nodes; nodes != nil {
		s.AllDown, s.Zones = nodes.AllZonesDown(), nodes.Zones()
		for _, w := range first(nodes.Waiting(), limit, &s.Omitted) {
			n := waitingNode{Node: w.Verdict.Node, Zone: w.Zone.String(), Since: w.Queued}
			if !w.Turn.IsZero() {
				n.Turn = &w.Turn
			}
			s.Waiting = append(s.Waiting, n)
		}
	}
	s.Spared = first(d.brakes.spared(), limit, &s.Omitted)
	if d.e.pods == nil {
		return s
	}
	for _, p := range first(d.e.pods.Evictions(), limit, &s.Omitted) {
		s.Evictions = append(s.Evictions, armedEviction{Pod: p.Pod.String(), Node: p.Pod.Node, Due: p.Due, Attempt: p.Attempt, Why: explain.Pod(p.Why).Text})
	}
	return s
}

// first returns the first entries of the list, up to limit, and adds the number of the others to omitted.
func first[T any](list []T, limit int, omitted *int) []T {
	shown := min(len(list), limit)
	*omitted += len(list) - shown
	return list[:shown]
}

func told(err error) string {
	if err == nil {
		return "yes"
	}
	return err.Error()
}
