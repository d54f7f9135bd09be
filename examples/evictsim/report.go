package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/evictsim/page"
)

// Limits on the content of a page, so that a browser opens it at once.
const (
	points        = 480
	pageWorkloads = 200
	pageEvents    = 40    // different ones
	pageTimes     = 2_000 // of all events together
	storyBytes    = 1 << 20
)

// writeReport writes outcomes and their scenarios as a page, below a drill unless that is nil. The stories, unless nil, are those of
// the first.
func writeReport(w io.Writer, outcomes []*outcome.Outcome, scenarios []*simulation.Scenario, stories *stories, drill *page.Drill) error {
	d := &page.Data{Version: outcome.Version, Drill: drill}
	names := outcome.Differing(outcomes)
	if len(outcomes) > 1 {
		d.Verdict = bestOf(outcomes, names)
		for _, name := range names {
			d.Varied = append(d.Varied, setting(name, names))
		}
	}
	for i, o := range outcomes {
		r := pageRun(o)
		r.Label = label(o, names)
		for _, name := range names {
			r.Values = append(r.Values, o.Value(name))
		}
		r.Events, r.MoreEvents = eventsOf(scenarios[i], o.Report.Series.Touched)
		if i == 0 && stories != nil {
			r.Stories, r.Untold = stories.told()
		}
		d.Runs = append(d.Runs, r)
	}
	return page.Write(w, d)
}

func pageRun(o *outcome.Outcome) page.Run {
	r := page.Run{Played: played(o), Engine: o.Engine, Settings: o.Settings, Figures: o.Figures, Checks: o.Checks, Notes: notes(o)}
	is := verdict(o)
	r.Verdict, r.Details = is.headline, is.more
	if o.Report.Series == nil { // from a program that makes none
		o.Report.Series = &simulation.Series{Step: time.Second}
	}
	r.Series = pageSeries(o.Report)
	r.Workloads, r.More = pageLoads(o.Report)
	return r
}

func pageSeries(r *simulation.Report) page.Series {
	s := r.Series
	to := page.Series{
		Late: max(r.Delayed-(r.Evicted-r.EvictedFromLiveNodes), 0),
		Step: s.Step.Seconds(), States: []string{"live", "silent, not yet noticed", "waiting for their taint", "tainted", "back, not yet cleared"},
		Without: s.Without, Marked: s.Marked, Pending: s.Pending, Held: s.Held, Terminating: s.Terminating, Evicted: s.Evicted, Tainted: s.Tainted,
	}
	for name, states := range s.Zones {
		z := page.Zone{Name: zoneName(name), Values: states[:]}
		if k := slices.IndexFunc(r.Zones, func(z simulation.ZoneReport) bool { return z.Name == name }); k >= 0 {
			z.Least, z.LeastAt = r.Zones[k].LowestNodes, r.Zones[k].LowestAt.Seconds()
		}
		to.Zones = append(to.Zones, z)
	}
	for i, most := range s.Peaks {
		to.Peaks = append(to.Peaks, [2]float64{float64(most), s.PeaksAt[i].Seconds()})
	}
	slices.SortFunc(to.Zones, func(a, b page.Zone) int { return cmp.Compare(a.Name, b.Name) })
	for _, d := range s.Delays {
		to.Delays = append(to.Delays, d.Seconds())
	}
	return to
}

// pageLoads returns the worst workloads that lacked pods or endpoints, and how many more there are.
func pageLoads(r *simulation.Report) (loads []page.Workload, more int) {
	if r.Series == nil || len(r.Series.Workloads) != len(r.Workloads) || len(r.Series.BelowBudget) != len(r.Workloads) {
		return nil, 0
	}
	var below []int
	for i := range r.Workloads {
		if hurt(&r.Workloads[i]) {
			below = append(below, i)
		}
	}
	slices.SortStableFunc(below, func(a, b int) int { return worse(&r.Workloads[a], &r.Workloads[b]) })
	for _, i := range below[:min(len(below), pageWorkloads)] {
		w := &r.Workloads[i]
		l := page.Workload{Name: w.String(), Desired: w.Desired, Lowest: w.LowestReady, Below: w.Below.Seconds(), BelowHalf: w.BelowHalf.Seconds(), BelowBudget: -1,
			Gone: w.MostEndpointsGone, LongestGone: w.LongestWithoutEndpoints.Seconds(), Missing: w.PodHoursMissing}
		if w.Budgets > 0 {
			l.BelowBudget = w.BelowBudget.Seconds()
		}
		for _, share := range r.Series.Workloads[i] {
			l.Live = append(l.Live, int(share))
		}
		for at, below := range r.Series.BelowBudget[i] {
			if below > 0 {
				l.Short = append(l.Short, at)
			}
		}
		loads = append(loads, l)
	}
	return loads, len(below) - len(loads)
}

// notes says what the scenario's author should know, what delayed evictions, what is not simulated, and what takes no time.
func notes(o *outcome.Outcome) []string {
	text := &strings.Builder{}
	tellLimits(text, &o.Played, o.Report)
	tellIgnored(text, &o.Ignored)
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "ignored") })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	lines = append(lines, timeless(&o.Played, o.Report)...)
	for i, warning := range o.Warnings {
		lines = slices.Insert(lines, i, "Warning: "+warning)
	}
	return lines
}

// stories are those of the nodes to which something happened first, as far as there is room.
type stories struct {
	moments map[string][]page.Moment
	nodeOf  map[string]string // the first node of each pod
	bytes   int
	order   []string // of their first moments
	sizes   map[string]int
	untold  map[string]bool
}

func newStories() *stories {
	return &stories{moments: make(map[string][]page.Moment), nodeOf: make(map[string]string), sizes: make(map[string]int), untold: make(map[string]bool)}
}

// of collects the stories of a job that is not yet played.
func (s *stories) of(j *job) {
	j.happened, j.decision, j.spared = s.happened, s.decided, s.spared
	file := j.line // of --timeline; nil for none
	j.line = func(l timeline.Line) error {
		if file != nil {
			if err := file(l); err != nil {
				return err
			}
		}
		return s.written(l)
	}
}

// add adds a moment. If there is no room, it drops the whole story that began last.
func (s *stories) add(node string, at time.Duration, text, pod string) {
	if node == "" || s.untold[node] {
		return
	}
	if pod != "" && s.nodeOf[pod] == "" {
		s.nodeOf[pod] = node
	}
	if s.sizes[node] == 0 {
		s.order = append(s.order, node)
	}
	size := len(text) + len(pod) + 40
	s.bytes, s.sizes[node] = s.bytes+size, s.sizes[node]+size
	s.moments[node] = append(s.moments[node], page.Moment{At: at.Seconds(), Text: text, Pod: pod})
	for s.bytes > storyBytes {
		last := s.order[len(s.order)-1]
		s.order = s.order[:len(s.order)-1]
		s.bytes -= s.sizes[last]
		s.untold[last] = true
		delete(s.moments, last)
		delete(s.sizes, last)
	}
}

func (s *stories) happened(h simulation.Happening) {
	pod := ""
	for _, key := range []evictor.PodKey{h.Pod, h.Gone} {
		if key.Name != "" {
			pod = key.String()
		}
	}
	s.add(h.Node, h.At, h.Text, pod)
}

func (s *stories) decided(e explain.Entry) {
	if untold(&e) || e.Node == "" || e.Kind == "NodeRegistered" {
		return
	}
	s.add(e.Node, e.Time.Sub(simulation.Epoch), wording(&e), e.Pod)
}

// written receives the lines of the timeline, each after its instant.
func (s *stories) written(l timeline.Line) error {
	pod := podKey(l.Pod).String()
	if l.Kind == timeline.KindSchedule {
		more, err := moreOf(l)
		if err != nil || more.Was == "" {
			return err
		}
		was := podKey(more.Was).String() // its story is not that of the new pod's node
		s.add(s.nodeOf[was], l.T, fmt.Sprintf("pod %s is replaced by %s on node %s", was, pod, l.Node), was)
		return nil
	}
	text, err := undecided(l)
	if err != nil || text == "" {
		return err
	}
	s.add(cmp.Or(l.Node, s.nodeOf[pod]), l.T, text, pod)
	return nil
}

func (s *stories) spared(at time.Duration, node, text string) { s.add(node, at, text, "") }

// told returns the stories with more than one moment, and how many found no room.
func (s *stories) told() (map[string][]page.Moment, int) {
	maps.DeleteFunc(s.moments, func(_ string, m []page.Moment) bool { return len(m) < 2 })
	for _, m := range s.moments {
		slices.SortStableFunc(m, func(a, b page.Moment) int { return cmp.Compare(a.At, b.At) })
	}
	return s.moments, len(s.untold)
}
