// Package outcome is the result of a simulation in machine-readable form: JSON and CSV, with a version, the engine and
// the settings in effect.
package outcome

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strconv"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// Version is the version of the format. It stays when fields and figures are added: readers must skip those that they do
// not know.
const Version = 1

// Outcome is one simulation.
type Outcome struct {
	Version  int     `json:"version"`
	Engine   string  `json:"engine"`
	Scenario string  `json:"scenario"`
	Set      []Field `json:"set,omitempty"` // what was changed in the scenario
	Settings []Field `json:"settings"`      // all settings, by their names in the scenario file
	Ignored  Ignored `json:"ignored"`

	// Figures have their names in expect; durations are in seconds.
	Figures   map[string]float64 `json:"figures"`
	Zones     []Part             `json:"zones"`
	Workloads []Part             `json:"workloads"`
	Budgets   []Part             `json:"budgets"`
	// Changes are the timeline's lines about zones and the cluster.
	Changes []json.RawMessage `json:"changes"`
	// Cancelled counts cancelled evictions by reason; Left counts the pods on silent nodes at the end, by reason.
	Cancelled map[string]int `json:"cancelled"`
	Left      map[string]int `json:"left"`
	// HeldBack has the evictions that were due and held back by something other than a disruption budget, by reason.
	HeldBack []HeldBack `json:"heldBack,omitempty"`
	// Unplaced says why pods are Pending at the end, grouped by equal requirements: the largest groups first, and at
	// most 20.
	Unplaced []Unplaced `json:"unplaced"`
	// FailedJobs are the Jobs that ended because too many of their pods failed, by name.
	FailedJobs []FailedJob `json:"failedJobs,omitempty"`
	// LostPods are the first of the pods that nothing recreates; lostForGood counts all.
	LostPods []string `json:"lostPods,omitempty"`
	// StuckDrains are the drains that could not evict everything, and StuckRolls the rolls that did not replace all of their
	// nodes.
	StuckDrains []StuckDrain `json:"stuckDrains,omitempty"`
	StuckRolls  []StuckRoll  `json:"stuckRolls,omitempty"`
	// Understated counts pods by a feature that is not simulated and makes some figures lower bounds: pendingAtEnd,
	// mostPending and those of lost time.
	Understated map[string]int `json:"understated,omitempty"`
	// Differences are those from the previous engine, if several engines played and the user asked why.
	Differences *Differences `json:"differences,omitempty"`
	// Breaches are the expectations that do not hold.
	Breaches []string `json:"breaches"`
	// Checks are what became of all expectations.
	Checks []scenariofile.Check `json:"-"`

	Warnings []string `json:"warnings"` // where the scenario may not say what its author meant

	Played simulation.Scenario `json:"-"` // with its defaults
	Report *simulation.Report  `json:"-"`
}

// Field is a setting.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Ignored is the part of the input that the simulation ignores.
type Ignored struct {
	Unbound int `json:"unboundPods"` // that are bound to none of the nodes
	scenariofile.Left
	Pods   map[string]int `json:"pods"`           // by feature that is not simulated
	Events []int          `json:"eventsAfterEnd"` // by their numbers in the file
}

// Part is one zone, workload or budget.
type Part struct {
	Name    string             `json:"name"`
	Figures map[string]float64 `json:"figures"`
	Limits  []Limit            `json:"limits,omitempty"` // for a zone
}

// Limit is something for which nodes of a zone waited: its rate or, with Held or Refused, something else.
type Limit struct {
	State         string  `json:"state"`
	Rate          float64 `json:"rate"`
	Held          string  `json:"held,omitempty"`    // the condition that announces maintenance
	Refused       string  `json:"refused,omitempty"` // why their turns were refused, such as a bound of the budget
	FromSeconds   float64 `json:"fromSeconds"`
	Ready         int     `json:"ready"`
	NotReady      int     `json:"notReady"`
	WaitedSeconds float64 `json:"waitedSeconds"`
	MostWaiting   int     `json:"mostWaiting"`
}

// HeldBack are evictions that were due and held back for one reason.
type HeldBack struct {
	Reason         string  `json:"reason"` // such as a bound of the budget
	FromSeconds    float64 `json:"fromSeconds"`
	LongestSeconds float64 `json:"longestSeconds"`
	Pods           int     `json:"pods"`
	AtEnd          int     `json:"atEnd"`
}

// Unplaced says why pods with equal requirements found no node.
type Unplaced struct {
	Pods    int            `json:"pods"`
	First   string         `json:"first"` // the pod that has waited longest, or whom it is to replace
	Nodes   int            `json:"nodes"`
	Because map[string]int `json:"because"` // nodes by what refused the pods
	Text    string         `json:"text"`
}

// FailedJob is a Job that ended because too many of its pods failed.
type FailedJob struct {
	Name      string  `json:"name"` // namespace/name
	AtSeconds float64 `json:"atSeconds"`
	Failed    int     `json:"failedPods"`
	Deleted   int     `json:"deletedPods"` // that it still had
}

// StuckDrain is a drain that was forced or given up, or went on at the end.
type StuckDrain struct {
	Node        string  `json:"node"`
	Event       int     `json:"event"` // its number; negative if a controller drained
	FromSeconds float64 `json:"fromSeconds"`
	AtSeconds   float64 `json:"atSeconds"`
	Ended       string  `json:"ended"`
	Pods        int     `json:"pods"`  // that were left
	First       string  `json:"first"` // one of them
	Why         string  `json:"why"`   // it was not evicted
}

// StuckRoll is a roll that stopped, or went on at the end.
type StuckRoll struct {
	Event          int     `json:"event"`
	Nodes          int     `json:"nodes"`
	Replaced       int     `json:"replaced"`
	Node           string  `json:"node,omitempty"`           // where it stopped, or was at the end
	StoppedSeconds float64 `json:"stoppedSeconds,omitempty"` // 0 if it went on
}

// Differences says why two engines differ, and how many lines of their timelines each reason explains. Lines are compared
// of plays without replacements, guard and leader election; Outage has the rows about the last two, if they acted.
type Differences struct {
	Outage      []string `json:"outage,omitempty"`
	Rows        []Row    `json:"rows"`
	Unexplained int      `json:"unexplained"`
	First       string   `json:"firstUnexplained,omitempty"`
	Unknown     string   `json:"unknown,omitempty"` // why there is no answer
	Apart       []Apart  `json:"apart,omitempty"`   // in the play that the figures are of
}

// Apart is a workload or a node with whose pods two engines do something else, or at another time.
type Apart struct {
	Of           string   `json:"of"`           // "workload " or "node ", and the name
	FirstSeconds float64  `json:"firstSeconds"` // when they first differ
	Engines      [2]Deeds `json:"engines"`      // ours, upstream's
}

// Deeds are what an engine does with the pods of a workload or of a node.
type Deeds struct {
	Evicted    int     `json:"evicted"`  // by taints, drains and the garbage collector
	Replaced   int     `json:"replaced"` // bound to a node
	Pending    int     `json:"pending"`  // found no node at first; only of workloads
	ReadyHours float64 `json:"readyHours"`
}

// Row is one row of DIFFERENCES.md: what differs, and why.
type Row struct {
	Text  string `json:"text"`
	Lines int    `json:"lines"`
}

// New returns the outcome for a report.
func New(engine, name string, set []scenariofile.Set, played simulation.Scenario, r *simulation.Report, left scenariofile.Left, expected []scenariofile.Expectation) *Outcome {
	played = played.WithDefaults()
	features := maps.Clone(r.NotSimulated)
	unbound := features[simulation.OnMissingNodes] + features[simulation.WithoutNode]
	delete(features, simulation.OnMissingNodes)
	delete(features, simulation.WithoutNode)
	o := &Outcome{
		Version: Version, Engine: engine, Scenario: name, Settings: settings(&played),
		Ignored: Ignored{unbound, left, features, r.After}, Played: played,
		Figures: Values(simulation.Figures(r)), Cancelled: r.Cancelled, Left: r.Left, Breaches: scenariofile.Breaches(r, expected), Checks: scenariofile.Checks(r, expected), Report: r, Warnings: append([]string{}, r.Warnings...),
		Zones: []Part{}, Workloads: []Part{}, Budgets: []Part{}, Changes: []json.RawMessage{}, Unplaced: []Unplaced{}, // empty lists, not null
	}
	o.Ignored.Events, o.Breaches = append([]int{}, o.Ignored.Events...), append([]string{}, o.Breaches...)
	for _, m := range []*map[string]int{&o.Ignored.Kinds, &o.Ignored.Pods, &o.Cancelled, &o.Left} {
		if *m == nil {
			*m = map[string]int{}
		}
	}
	for _, s := range set {
		o.Set = append(o.Set, Field{s.Path, s.Value})
	}
	for i := range r.Zones {
		z := &r.Zones[i]
		part := Part{Name: z.Name, Figures: Values(simulation.Figures(z))}
		for _, l := range z.Limits {
			part.Limits = append(part.Limits, Limit{l.State, l.Rate, l.Held, l.Refused, l.From.Seconds(), l.Ready, l.NotReady, l.Waited.Seconds(), l.Most})
		}
		o.Zones = append(o.Zones, part)
	}
	for i := range r.Workloads {
		o.Workloads = append(o.Workloads, Part{Name: r.Workloads[i].String(), Figures: Values(simulation.Figures(&r.Workloads[i]))})
	}
	for i := range r.Budgets {
		o.Budgets = append(o.Budgets, Part{Name: r.Budgets[i].String(), Figures: Values(simulation.Figures(&r.Budgets[i]))})
	}
	for _, h := range r.HeldBack {
		o.HeldBack = append(o.HeldBack, HeldBack{h.Reason, h.From.Seconds(), h.Longest.Seconds(), h.Pods, h.AtEnd})
	}
	for i := range r.Unplaced {
		u := &r.Unplaced[i]
		o.Unplaced = append(o.Unplaced, Unplaced{u.Pods, u.First, u.Nodes, u.Because, u.String()})
	}
	for i := range r.FailedJobs {
		j := &r.FailedJobs[i]
		o.FailedJobs = append(o.FailedJobs, FailedJob{j.String(), j.At.Seconds(), j.Failed, j.Deleted})
	}
	for _, key := range r.LostPods {
		o.LostPods = append(o.LostPods, key.String())
	}
	o.Understated = r.Understated
	for i := range r.StuckDrains {
		s := &r.StuckDrains[i]
		o.StuckDrains = append(o.StuckDrains, StuckDrain{s.Node, s.Event, s.From.Seconds(), s.At.Seconds(), s.Ended, s.Pods, s.First, s.Why})
	}
	for i := range r.StuckRolls {
		s := &r.StuckRolls[i]
		o.StuckRolls = append(o.StuckRolls, StuckRoll{s.Event, s.Nodes, s.Replaced, s.Node, s.Stopped.Seconds()})
	}
	for i := range r.Changes {
		o.Changes = append(o.Changes, r.Changes[i].AppendJSON(nil))
	}
	return o
}

// Values returns figures by their names.
func Values(figures []simulation.Figure) map[string]float64 {
	m := make(map[string]float64, len(figures))
	for _, f := range figures {
		m[f.Name] = f.Value
	}
	return m
}

// settings returns all settings in effect.
func settings(s *simulation.Scenario) (fields []Field) {
	all := s.Settings()
	if _, limited := all["kubeAPIBurst"]; limited {
		all["kubeAPIBurst"] = s.KubeAPIBurst // as it is given
	}
	for _, name := range []string{
		"nodeMonitorPeriod", "nodeMonitorGracePeriod", "nodeStartupGracePeriod", "nodeEvictionRate", "secondaryNodeEvictionRate",
		"largeClusterSizeThreshold", "unhealthyZoneThreshold", "podEvictionTimeout", "taintBasedEviction", "useEvictionAPI", "leaderElection",
		"heartbeatInterval", "statusInterval", "spread", "tolerationSeconds", "rescheduleAfter", "until",
		"notReadyFor", "rescheduleReady", "kubeAPIQPS", "kubeAPIBurst", "together",
	} {
		switch value := all[name].(type) {
		case nil: // it is not set
		case float64:
			fields = append(fields, Field{name, strconv.FormatFloat(value, 'f', -1, 64)})
		default:
			fields = append(fields, Field{name, fmt.Sprint(value)})
		}
	}
	return fields
}

// Brakes returns the settings that a scenario has beside what is simulated, and that only our engine plays.
func Brakes(s *scenariofile.Scenario) (fields []Field) {
	if s.Budget != nil {
		fields = append(fields, Field{"budget", s.Budget.String()})
	}
	if s.Maintenance > 0 {
		fields = append(fields, Field{"maintenance", s.Maintenance.String()})
	}
	return fields
}

// WriteJSON writes one outcome as an object, several as a list.
func WriteJSON(w io.Writer, all []*Outcome) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if len(all) == 1 {
		return encoder.Encode(all[0])
	}
	return encoder.Encode(all)
}
