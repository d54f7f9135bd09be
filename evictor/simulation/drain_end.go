package simulation

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Values of Drain.Then and Roll.Then: what happens when a node's timeout is over and pods are left that a budget protects.
const (
	// thenGiveUp ends the drain: the node stays cordoned and keeps the pods, and a roll stops there. So do `kubectl drain
	// --timeout` and managed node groups without force.
	thenGiveUp = "giveUp"
	// thenForce deletes the pods without asking budgets, as Karpenter's terminationGracePeriod, Cluster API's
	// nodeDrainTimeout and managed node groups with force do.
	thenForce = "force"
)

// Values of Drain.Bare and Drain.EmptyDir: what becomes of pods without a controller, which nobody replaces, and of
// pods with an emptyDir volume, whose data is lost.
const (
	// refusePods evicts nothing from a node that has such a pod. So does kubectl drain without --force, or without
	// --delete-emptydir-data.
	refusePods = "refuse"
	// evictPods evicts them like others.
	evictPods = "evict"
)

// Values of StuckDrain.Ended.
const (
	DrainRefused    = "refused" // the node has a pod that the drain refuses to evict, so that it is only cordoned
	DrainFailed     = "failed"  // the eviction API answered with an error, because a pod has two budgets
	DrainForced     = "forced"
	DrainGivenUp    = "givenUp"
	DrainUnfinished = "unfinished" // the simulation ended first
)

// StuckDrain is a drain that could not evict all pods of its node.
type StuckDrain struct {
	Node  string
	Event int           // the number of the event that asked for it; negative if a controller did
	From  time.Duration // when it began
	At    time.Duration // when it was forced or given up, or the end of the simulation
	Ended string        // DrainRefused, DrainFailed, DrainForced, DrainGivenUp or DrainUnfinished
	Pods  int           // how many were left then
	First string        // one of these, as namespace/name
	Why   string        // why that pod was not evicted
}

// String says which drain it is, and what became of it.
func (s *StuckDrain) String() string {
	text := map[string]string{DrainFailed: "failed", DrainForced: "was forced", DrainGivenUp: "was given up", DrainUnfinished: "has not ended"}[s.Ended]
	left := "1 pod"
	if s.Pods != 1 {
		left = fmt.Sprintf("%d pods", s.Pods)
	}
	if s.Ended == DrainRefused {
		return fmt.Sprintf("node %s is cordoned, and nothing is evicted because of %s: pod %s: %s", s.Node, left, s.First, s.Why)
	}
	return fmt.Sprintf("the drain of node %s %s after %s, with %s left: pod %s: %s", s.Node, text, Brief(s.At-s.From), left, s.First, s.Why)
}

// StuckRoll is a roll that did not replace all of its nodes.
type StuckRoll struct {
	Event           int // its number
	Nodes, Replaced int
	Node            string        // where it stopped, or which node it drained at the end; empty if it waited then
	Stopped         time.Duration // when the drain of that node was given up; 0 if the simulation ended first
}

// String says how far it came.
func (s *StuckRoll) String() string {
	text := fmt.Sprintf("the roll has replaced %d of %d nodes", s.Replaced, s.Nodes)
	switch {
	case s.Stopped > 0:
		return fmt.Sprintf("%s, and stopped at node %s at %s", text, s.Node, Brief(s.Stopped))
	case s.Node != "":
		return text + ", and still drains node " + s.Node + " at the end"
	default:
		return text + " by the end"
	}
}

// checkTimeout reports the faults of a drain's or a roll's timeout.
func checkTimeout(f faults, timeout time.Duration, then string) {
	notNegative(f.in("timeout"), timeout)
	switch {
	case then != "" && then != thenGiveUp && then != thenForce:
		f.in("then").add("%q is neither %s nor %s", then, thenGiveUp, thenForce)
	case then != "" && timeout == 0:
		f.in("then").add("%s needs a timeout", then)
	}
}

// check reports the faults of a drain.
func (d *Drain) check(f faults) {
	checkTimeout(f, d.Timeout, d.Then)
	for _, pods := range []struct{ name, value string }{{"bare", d.Bare}, {"emptyDir", d.EmptyDir}} {
		if pods.value != "" && pods.value != refusePods && pods.value != evictPods {
			f.in(pods.name).add("%q is neither %s nor %s", pods.value, refusePods, evictPods)
		}
	}
}

// waits says whether the drain waits until pods that it has evicted are gone.
func (d *Drain) waits() bool { return d.Wait == nil || *d.Wait }

// text describes what is not kubectl's default.
func (d *Drain) text() string {
	var all []string
	if d.Bare == evictPods {
		all = append(all, "bare: evict")
	}
	if d.EmptyDir == evictPods {
		all = append(all, "emptyDir: evict")
	}
	if !d.waits() {
		all = append(all, "wait: false")
	}
	text := timeoutText(d.Timeout, d.Then)
	if len(all) > 0 {
		text += " (" + strings.Join(all, ", ") + ")"
	}
	return text
}

// timeoutText describes a timeout after the nodes it is about.
func timeoutText(timeout time.Duration, then string) string {
	if timeout == 0 {
		return ""
	}
	return fmt.Sprintf(" (after %s %s)", Brief(timeout), cmp.Or(then, thenGiveUp))
}

// stuck records what became of a drain, and tells it.
func (p *player) stuck(d *drain, ended string) {
	c := p.cluster
	s := StuckDrain{
		Node: c.nodes[d.node].Name, Event: d.by.Number, From: d.from, At: c.Clock.Elapsed(), Ended: ended,
		Pods: d.left.pods, First: d.left.first.String(), Why: d.left.why,
	}
	switch ended {
	case DrainRefused, DrainFailed:
		p.report.DrainsFailed++
	case DrainForced:
		p.report.DrainsForced++
	case DrainGivenUp:
		p.report.DrainsGivenUp++
	case DrainUnfinished:
		p.report.DrainsUnfinished++
	}
	p.report.StuckDrains = append(p.report.StuckDrains, s)
	c.tellHappening(s.Node, s.String())
	more := timeline.Fields{"ended": ended, "pods": s.Pods}
	if s.Pods > 0 { // others may drain a node until nothing is left, and say that they have not
		more["reason"] = joinPodName(d.left.first.Namespace, d.left.first.Name) + ": " + s.Why
	}
	p.line(timeline.Line{T: s.At, Kind: timeline.KindDrainEnd, Node: s.Node, More: more.String()})
}

// stuckRoll records a roll that did not come to its end, and tells it.
func (p *player) stuckRoll(r *roll, stopped time.Duration) {
	s := StuckRoll{Event: r.event.Number, Nodes: r.all, Replaced: r.replaced, Stopped: stopped}
	if r.now != nil {
		s.Node = p.cluster.nodes[r.now.node].Name
	}
	p.report.RollsUnfinished++
	p.report.StuckRolls = append(p.report.StuckRolls, s)
	ended := DrainUnfinished
	if stopped > 0 {
		ended = DrainGivenUp
		p.cluster.tellHappening(s.Node, s.String())
	}
	p.line(timeline.Line{T: p.cluster.Clock.Elapsed(), Kind: timeline.KindRollEnd, Node: s.Node, More: timeline.Fields{"ended": ended, "number": s.Event, "of": s.Nodes, "replaced": s.Replaced}.String()})
}

// endDrains records the drains and rolls that go on at the end of the simulation.
func (p *player) endDrains() {
	for _, d := range p.drains {
		p.stuck(d, DrainUnfinished)
	}
	for i := range p.rolls {
		p.stuckRoll(&p.rolls[i], 0)
	}
}
