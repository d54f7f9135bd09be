package evictor_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The judge compares what a process does with what the model says.

// livesJudge keeps the first thing that went wrong, and the pace over all processes.
type livesJudge struct {
	world   *livesWorld
	rule    string
	message string
	paces   map[string][]time.Time // when nodes were first tainted or emptied, or released
	starts  []time.Time            // when somebody began to lead
	split   bool                   // two have led at a time
	writes  int
	asks    int
}

func (j *livesJudge) wrong(rule, format string, args ...any) {
	if j.rule == "" {
		j.rule, j.message = rule, fmt.Sprintf(format, args...)
		j.world.logf("  WRONG %s: %s", j.rule, j.message)
	}
}

// livesRules are rules, each with whether it is broken.
type livesRules []struct {
	rule   string
	broken bool
}

// first is the first that is broken, empty when none is.
func (rules livesRules) first() string {
	for _, r := range rules {
		if r.broken {
			return r.rule
		}
	}
	return ""
}

// livesNotes are what the judge keeps of a process beside what the model knows.
type livesNotes struct {
	ours      bool                 // the eviction that is about to be made is by our own taints, or empties the node
	did       map[kind]int         // writes that were done and not told yet
	turn      map[string]time.Time // when nodes had the turn whose NoExecute taint is being written
	conflicts map[string]bool      // nodes whose last taint met a conflict
	begins    map[string]bool      // pods whose eviction, which is being tried, is the first of their node's turn
	counted   map[string]time.Time // of the turn whose token was counted
	turns     map[string]*livesTurn
	conflict  map[string]time.Time // since when a node's writes are too old
	released  map[string]time.Time // when the closure ended after which a node was released
	hindered  map[string]time.Time // until when something last kept it from a kind of write, or from all
	absent    map[string]string    // versions of nodes and pods of which a write was told that they are gone
	trouble   time.Time            // when something last kept this process from its work
	troubles  string
	kicked    time.Time
	askedBy   map[types.UID]time.Time // when the program wants to be asked again, at the latest
	permitted map[types.UID]time.Time // when it last said yes, unless it has said no since
	behind    time.Time               // when the store last stopped showing older versions
	moved     bool                    // its slots, by less than a period, when its clock was set back
	before    *livesMind              // under Run: as it was when this instant began
	doubts    []livesDoubt            // under Run: writes that only the end of the instant may justify
}

func newLivesMind(p *livesProcess) *livesMind {
	return &livesMind{
		world: p.world, process: p, nodes: map[string]*livesNode{}, pods: map[string]livesPod{}, prior: map[string]livesMachine{},
		partly: map[string]bool{}, slow: map[string]time.Time{}, closed: map[string][2]time.Time{},
		unsettled: p.world.now, came: p.world.now,
		livesNotes: livesNotes{begins: map[string]bool{}, conflicts: map[string]bool{}, counted: map[string]time.Time{}, turns: map[string]*livesTurn{}, absent: map[string]string{}, hindered: map[string]time.Time{livesAll: p.world.now}, did: map[kind]int{}, turn: map[string]time.Time{}, conflict: map[string]time.Time{}, released: map[string]time.Time{}, askedBy: map[types.UID]time.Time{}, permitted: map[types.UID]time.Time{}, trouble: p.world.now, troubles: "start"},
	}
}

// livesDoubt is a write and how it is judged.
type livesDoubt struct {
	what  string
	judge func(m *livesMind) (rule string)
}

// may judges a write. Under Run, where writes are made beside passes and events, what was known when the instant began
// may justify it as well, or what is known when it ends.
func (m *livesMind) may(what string, judge func(m *livesMind) (rule string)) {
	rule := judge(m)
	switch {
	case rule == "":
	case m.before == nil:
		m.wrong(rule, "%s", what)
	case judge(m.before) != "":
		m.doubts = append(m.doubts, livesDoubt{what, judge})
	}
}

// instantEnds judges what is still in doubt.
func (m *livesMind) instantEnds() {
	for _, doubt := range m.doubts {
		m.wrong(doubt.judge(m), "%s", doubt.what)
	}
	m.doubts = nil
}

// copy is what is known now, for later.
func (m *livesMind) copy() *livesMind {
	c, p := *m, *m.process
	c.process, p.seenNodes, p.seenPods = &p, maps.Clone(p.seenNodes), maps.Clone(p.seenPods)
	c.nodes, c.pods, c.partly, c.closed = make(map[string]*livesNode, len(m.nodes)), maps.Clone(m.pods), maps.Clone(m.partly), maps.Clone(m.closed)
	for name, known := range m.nodes {
		k := *known
		c.nodes[name] = &k
	}
	return &c
}

func (m *livesMind) wrong(rule, format string, args ...any) {
	if rule == "" {
		return
	}
	m.world.judge.wrong(rule, "p%d: %s", m.process.slot, fmt.Sprintf(format, args...))
}

// disturbed notes what keeps the process from its work. "What is forbidden … keeps its backoff" (doc.go), and so does
// what fails alone. What brakes harm alone keeps it from no other work.
func (m *livesMind) disturbed(why string) {
	if !slices.Contains(livesBrakes, why) {
		m.hinders(livesAll, livesLater(m.world.now, m.process.frozen))
	}
	m.disturbs(why)
}

// disturbedIn notes what kept it from one kind of write.
func (m *livesMind) disturbedIn(write, why string) {
	if m.hinders(write, m.world.now); strings.HasPrefix(why, "own ") {
		m.hinders(write, m.world.now.Add(m.world.config.Nodes.RetryMax))
	}
	m.disturbs(why)
}

func (m *livesMind) hinders(write string, until time.Time) {
	if write == "all" {
		write = livesAll
	}
	m.hindered[write] = livesLater(m.hindered[write], until)
}

func (m *livesMind) disturbs(why string) {
	m.troubles, m.trouble = why, livesLater(livesLater(m.trouble, m.world.now), m.process.frozen) // nobody looks before
	if why == "lag" {
		m.behind = m.world.now
	}
	if strings.HasPrefix(why, "own ") {
		m.trouble = m.world.now.Add(m.world.config.Nodes.RetryMax)
	}
}

// livesBrakes are the events that keep nobody from a write that only protects.
var livesBrakes = []string{"hold", "release", "pause", "resume", "fence", "policy", "turns", "kick"}

// wrote is told what a write came to: of a success a Decision may follow, and of nothing else (doc.go).
func (m *livesMind) wrote(kind kind, err error) {
	if err == nil {
		m.did[kind]++
	}
}

// told judges a decision: none tells of what did not happen, or of what the half that is off decides.
func (m *livesMind) told(d decision) {
	m.reports(d)
	count, ofWrite := m.did[d.Kind], slices.Contains(livesWrites, d.Kind)
	name := string(d.Kind)
	ofEvictions := strings.HasPrefix(name, "Eviction") || d.Kind == "PodEvicted"
	switch half := m.world.plan.Half; {
	case half == livesLifecycle && ofEvictions && d.Taint != nil, half == livesTaintEviction && !ofEvictions && !slices.Contains(livesOfBoth, d.Kind):
		m.wrong("the other half decides", "%v", d)
	case ofWrite && count == 0:
		m.wrong("told what was not done", "%v", d)
	case ofWrite:
		m.did[d.Kind]--
	}
}

var (
	livesWrites = []kind{"ConditionsWritten", "TaintsWritten", "LabelsWritten", "PodEvicted", "PodMarkedNotReady"}
	livesOfBoth = []kind{"GateChanged", "GateChanged", "Awaiting", "WriteFailed"}
)
