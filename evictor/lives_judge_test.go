package evictor_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor"
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
}

func (j *livesJudge) wrong(rule, format string, args ...any) {
	if j.rule == "" {
		j.rule, j.message = rule, fmt.Sprintf(format, args...)
		j.world.logf("  WRONG %s: %s", j.rule, j.message)
	}
}

// may judges a write. Under Run, where writes are made beside passes and events, what was known when the instant began
// may justify it as well, or what is known when it ends.
func (m *livesMind) may(judge func(m *livesMind) (rule, why string)) {
	rule, why := judge(m)
	switch {
	case rule == "":
	case m.before == nil:
		m.wrong(rule, "%s", why)
	default:
		if rule, _ = judge(m.before); rule != "" {
			m.doubts = append(m.doubts, judge)
		}
	}
}

// instantEnds judges what is still in doubt.
func (m *livesMind) instantEnds() {
	for _, judge := range m.doubts {
		if rule, why := judge(m); rule != "" {
			m.wrong(rule, "%s", why)
		}
	}
	m.doubts = nil
}

// copy is what is known now, for later.
func (m *livesMind) copy() *livesMind {
	c, p := *m, *m.process
	c.process, p.seenNodes, p.seenPods = &p, maps.Clone(p.seenNodes), maps.Clone(p.seenPods)
	c.nodes, c.pods, c.stands, c.closed = make(map[string]*livesNode, len(m.nodes)), maps.Clone(m.pods), maps.Clone(m.stands), maps.Clone(m.closed)
	for name, known := range m.nodes {
		k := *known
		k.marked, c.nodes[name] = maps.Clone(known.marked), &k
	}
	return &c
}

func (m *livesMind) wrong(rule, format string, args ...any) {
	m.world.judge.wrong(rule, "p%d: %s", m.process.slot, fmt.Sprintf(format, args...))
}

// disturbed notes what keeps the process from its work. "What is forbidden … keeps its backoff" (doc.go), and so does
// what fails alone.
func (m *livesMind) disturbed(why string) {
	m.troubles, m.trouble = why, livesLater(m.trouble, m.world.now)
	if strings.HasPrefix(why, "own ") {
		m.trouble = m.world.now.Add(m.world.config.RetryMax)
	}
}

// wrote is told what a write came to: of a success a Decision may follow, and of nothing else (doc.go).
func (m *livesMind) wrote(kind evictor.Kind, err error) {
	if err == nil {
		m.did[kind]++
	}
}

// told judges a decision: none tells of what did not happen, or of what the half that is off decides.
func (m *livesMind) told(d evictor.Decision) {
	count, ofWrite := m.did[d.Kind], slices.Contains(livesWrites, d.Kind)
	name := d.Kind.String()
	ofEvictions := strings.HasPrefix(name, "Eviction") || d.Kind == evictor.PodEvicted
	switch half := m.world.plan.Half; {
	case d.DryRun != m.world.plan.Dry:
		m.wrong("dry run", "%v", d)
	case half == evictor.Lifecycle && ofEvictions && d.Taint != nil, half == evictor.TaintEviction && !ofEvictions && !slices.Contains(livesOfBoth, d.Kind):
		m.wrong("the other half decides", "%v", d)
	case ofWrite && count == 0 && !d.DryRun:
		m.wrong("told what was not done", "%v", d)
	case ofWrite:
		m.did[d.Kind]--
	}
}

var (
	livesWrites = []evictor.Kind{evictor.ConditionsWritten, evictor.TaintsWritten, evictor.LabelsWritten, evictor.PodEvicted, evictor.PodMarkedNotReady}
	livesOfBoth = []evictor.Kind{evictor.GateChanged, evictor.DomainGateChanged, evictor.Awaiting, evictor.WriteFailed}
)

// keeps says whether a pace is kept with one more; all means by all processes together.
func (j *livesJudge) keeps(pace string, rate float64, at time.Time, all bool) bool {
	times := append(j.paces[pace], at)
	slices.SortFunc(times, time.Time.Compare)
	j.paces[pace] = times
	if all && j.split {
		return true
	}
	refill := time.Duration(float64(time.Second) / rate)
	for i, first := range times {
		for k, last := range times[i:] {
			granted := 1 + (last.Sub(first)+j.world.slack).Seconds()*rate
			for _, start := range j.starts {
				if all && start.After(first.Add(-refill)) && !start.After(last) {
					granted++
				}
			}
			if float64(k+1) > granted+0.001 {
				return false
			}
		}
	}
	return true
}
