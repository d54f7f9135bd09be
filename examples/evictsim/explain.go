package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/zone"
)

func explainCommand(f *flags) *cobra.Command {
	var pod, node string
	c := &cobra.Command{
		Use:     "explain --pod NAMESPACE/NAME | --node NAME",
		Short:   "Tell the story of one pod or node, from the silence to the eviction",
		Example: "  evictsim explain --pod a-017-p3\n  evictsim explain --scenario zone-lost.yaml --node b-004",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if (pod == "") == (node == "") {
				return usage(errors.New("explain needs either --pod or --node"))
			}
			if f.engine.choice != ours {
				return usage(errors.New("upstream's controllers do not explain their decisions: use --engine evictkit"))
			}
			if f.report != "" {
				return usage(errors.New("a report has the stories of all nodes: use --report without explain"))
			}
			sets, err := f.check(c)
			if err != nil {
				return err
			}
			if f.output != "text" {
				return usage(errors.New("explain writes only text: leave out --output"))
			}
			in, err := read(c.Context(), f.scenario, c.InOrStdin())
			if err != nil {
				return err
			}
			t := &tale{node: node, silent: -1, back: -1, gone: -1}
			if pod != "" {
				t.bare = !strings.Contains(pod, "/")
				if t.pod = podKey(pod); t.pod.Namespace == "" || t.pod.Name == "" {
					return usage(fmt.Errorf("--pod %s is neither NAME nor NAMESPACE/NAME", pod))
				}
			}
			j := &job{input: in, sets: sets, engine: engine{name: ours}, line: t.written, decision: t.decided, happened: t.happened, spared: t.spared, started: t.started}
			if _, err := f.timed(c.Context(), j, c.ErrOrStderr()); err != nil {
				return err
			}
			return t.tell(c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&pod, "pod", "", "`NAME` of a pod; its namespace is default unless the name has one")
	c.Flags().StringVar(&node, "node", "", "`NAME` of a node")
	return c
}

func podKey(text string) evictor.PodKey {
	if namespace, name, ok := strings.Cut(text, "/"); ok {
		return evictor.PodKey{Namespace: namespace, Name: name}
	}
	return evictor.PodKey{Namespace: "default", Name: text}
}

// tale collects the events and decisions that concern one pod and its node, or one node and all its pods.
type tale struct {
	pod    evictor.PodKey // zero if it is about a node
	node   string         // empty while the pod has no node
	zone   zone.Key
	held   string   // what its eviction waits for
	bare   bool     // the user gave the pod's name without a namespace
	others []string // pods of that name in other namespaces
	stores evictor.Clients
	lines  []chapter
	found  bool // the node has existed

	// What the first sentence tells; a negative time means that it did not happen.
	silent, back, first, last, gone time.Duration
	evicted                         int
	failed                          string // the node that was silent
	heir                            string // the pod that replaced it, and where
	heirAt                          time.Duration
}

type chapter struct {
	at   time.Duration
	text string
}

func (t *tale) ofPod() bool { return t.pod.Name != "" }

// started finds the pod.
func (t *tale) started(w *simulation.World) {
	t.stores = w.Clients()
	t.elsewhere()
	if pod, ok := t.stores.Pods.Pod(t.pod); ok {
		t.is(0, pod.Spec.NodeName)
	} else if _, ok := t.stores.Nodes.Node(t.node); ok {
		t.is(0, t.node)
	}
}

// is records which node the pod is on.
func (t *tale) is(at time.Duration, name string) {
	t.node = name
	n, ok := t.stores.Nodes.Node(name)
	if !ok {
		return
	}
	t.zone, t.found = zone.KeyOf(n.Labels), true
	if t.ofPod() {
		t.add(at, fmt.Sprintf("pod %s is on node %s of zone %s", t.pod, name, zoneName(t.zone.String())))
	} else {
		pods := 0
		t.stores.Pods.PodsOnNode(name, func(*v1.Pod) bool {
			pods++
			return true
		})
		t.add(at, fmt.Sprintf("node %s of zone %s has %s", name, zoneName(t.zone.String()), some(pods, "pod")))
	}
}

// happened receives what happens to the cluster.
func (t *tale) happened(h simulation.Happening) {
	t.notice(h)
	switch {
	case t.ofPod() && h.Pod == t.pod:
		t.is(h.At, h.Node)
	case t.ofPod() && h.Was == t.pod:
		t.add(h.At, h.Text+fmt.Sprintf(", on node %s", h.Node))
		return
	case h.Node != t.node || t.ofPod() && (h.Pod.Name != "" || h.Kept.Name != "" && h.Kept != t.pod || h.Gone != t.pod && (h.Gone.Name != "" || t.isGone())):
		return
	case !t.ofPod():
		if n, ok := t.stores.Nodes.Node(t.node); ok { // it may have just been added
			t.zone, t.found = zone.KeyOf(n.Labels), true
		}
	}
	t.add(h.At, h.Text)
}

// notice keeps what the first sentence tells.
func (t *tale) notice(h simulation.Happening) {
	switch {
	case h.Node == t.node && h.Silent && (t.silent < 0 || t.back >= 0) && t.evicted == 0:
		t.silent, t.back, t.failed = h.At, -1, h.Node
	case h.Node == t.failed && !h.Silent && t.back < 0:
		t.back = h.At
	}
	switch {
	case !t.ofPod():
	case h.Gone == t.pod:
		t.gone = h.At
	case h.Was == t.pod:
		t.heir, t.heirAt = fmt.Sprintf("%s on node %s", h.Pod, h.Node), h.At
	}
}

// leaves counts an eviction.
func (t *tale) leaves(at time.Duration) {
	if t.last = at; t.evicted == 0 {
		t.first = at
	}
	t.evicted++
}

// headline returns the first sentence.
func (t *tale) headline() string {
	what, ends := "node "+t.node, []string{}
	if t.ofPod() {
		what = "pod " + t.pod.String()
	}
	say := func(format string, args ...any) { ends = append(ends, fmt.Sprintf(format, args...)) }
	if t.silent >= 0 {
		whose := ""
		if t.ofPod() {
			whose = "its node "
		}
		if t.back >= 0 {
			say("%ssilent from %s to %s", whose, short(t.silent), short(t.back))
		} else {
			say("%ssilent from %s on", whose, short(t.silent))
		}
	}
	switch {
	case t.evicted == 0:
		say("nothing evicted")
	case t.ofPod():
		say("evicted at %s", short(t.first))
	case t.first == t.last:
		say("%s evicted at %s", some(t.evicted, "pod"), short(t.first))
	default:
		say("%s evicted from %s to %s", some(t.evicted, "pod"), short(t.first), short(t.last))
	}
	if t.gone >= 0 {
		say("its object was gone at %s", short(t.gone))
	}
	if t.heir != "" {
		say("replaced at %s by %s", short(t.heirAt), t.heir)
	}
	return what + ": " + strings.Join(ends, "; ")
}

// decided receives the evictor's decisions.
func (t *tale) decided(e explain.Entry) {
	mine := t.ofPod() && e.Pod == t.pod.String()
	if e.Kind == "PodEvicted" && (mine || !t.ofPod() && e.Node == t.node) {
		t.leaves(e.Time.Sub(simulation.Epoch))
	}
	t.holds(&e, mine)
	switch {
	case untold(&e):
		return
	case e.Kind == "AllZonesDown" || e.Kind == "AllZonesDownEnded":
	case t.node == "" || t.isGone() && !mine:
		return
	case e.Kind == "ZoneChanged" && strings.Contains(e.String(), " zone "+t.zone.String()+": "), e.Kind == "ZoneChanged" && t.zone == (zone.Key{}) && strings.Contains(e.String(), " nodes without a zone: "):
	case e.Node != t.node || t.ofPod() && e.Pod != "" && !mine:
		return
	}
	t.add(e.Time.Sub(simulation.Epoch), wording(&e))
}

// spared receives which nodes maintenance spares.
func (t *tale) spared(at time.Duration, node, text string) {
	if node == t.node && !t.isGone() {
		t.add(at, text)
	}
}

// written receives the lines of the timeline, each after its instant, and adds what the evictor did not decide.
func (t *tale) written(l timeline.Line) error {
	if t.ofPod() && podKey(l.Pod) != t.pod || !t.ofPod() && (t.node == "" || l.Node != t.node) {
		return nil
	}
	text, err := undecided(l)
	if err != nil || text == "" {
		return err
	}
	if l.Kind == timeline.KindDrain {
		t.leaves(l.T)
	}
	t.add(l.T, text)
	return nil
}

// undecided says what a line of the timeline tells that is no decision of the evictor's, "" for other lines.
func undecided(l timeline.Line) (string, error) {
	more, err := moreOf(l)
	if err != nil {
		return "", err
	}
	pod := podKey(l.Pod)
	switch l.Kind {
	case timeline.KindDrain:
		if more.Reason != "" {
			return fmt.Sprintf("pod %s: deleted by the drain, because %s", pod, more.Reason), nil
		}
		return fmt.Sprintf("pod %s: evicted by the drain", pod), nil
	case timeline.KindRemove:
		return fmt.Sprintf("pod %s: its object is removed, because %s", pod, more.Reason), nil
	case timeline.KindHeld:
		return fmt.Sprintf("pod %s: its replacement is not created, %s", pod, more.Reason), nil
	case timeline.KindPending:
		return fmt.Sprintf("pod %s: its replacement is Pending, %s", pod, more.Reason), nil
	}
	return "", nil
}

// moreOf reads what some kinds of lines have: a reason, or the pod that a new one replaces.
func moreOf(l timeline.Line) (more struct{ Reason, Was string }, err error) {
	if l.More != "" {
		err = json.Unmarshal([]byte("{"+l.More[1:]+"}"), &more)
	}
	return more, err
}

// isGone says whether the story is about a pod that no longer exists: what happens to its node is no longer part of it.
func (t *tale) isGone() bool {
	if !t.ofPod() {
		return false
	}
	_, ok := t.stores.Pods.Pod(t.pod)
	return !ok
}

func (t *tale) add(at time.Duration, text string) { t.lines = append(t.lines, chapter{at, text}) }

func (t *tale) tell(w io.Writer) error {
	if !t.found && (!t.ofPod() || len(t.lines) == 0) { // a node without a zone shares its decisions with a name that is none
		if t.ofPod() {
			if len(t.others) > 0 {
				return fmt.Errorf("pod %s does not exist: is it %s?", t.pod, strings.Join(t.others, " or "))
			}
			return fmt.Errorf("pod %s does not exist%s", t.pod, scenariofile.Hint(t.pod.String(), t.podNames))
		}
		return fmt.Errorf("node %s does not exist%s", t.node, scenariofile.Hint(t.node, t.nodeNames))
	}
	slices.SortStableFunc(t.lines, func(a, b chapter) int { return cmp.Compare(a.at, b.at) })
	fmt.Fprintf(w, "%s\n\n", t.headline())
	table := columns{titles: []string{">AT", "WHAT"}}
	for left := t.lines; len(left) > 0; {
		n := alike(left)
		table.add(left[0].at.Round(time.Millisecond).String(), folded(left[:n]))
		left = left[n:]
	}
	table.write(w, "")
	if why := t.stays(); why != "" {
		fmt.Fprintf(w, "\nAt the end it is still there: %s\n", why)
	}
	return nil
}

// alike counts the chapters, from the first on, that say the same: about one thing again and again, or about several pods at
// once.
func alike(lines []chapter) int {
	_, first := ofWhom(lines[0].text)
	for n := 1; n < len(lines); n++ {
		same := lines[n].text == lines[0].text
		if _, text := ofWhom(lines[n].text); !same && (text != first || lines[n].at != lines[0].at) {
			return n
		}
	}
	return len(lines)
}

// ofWhom splits a text about a pod.
func ofWhom(text string) (pod, rest string) {
	if whom, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(whom, "pod ") {
		return whom, rest
	}
	return "", text
}

// folded returns alike chapters as one text.
func folded(lines []chapter) string {
	first, last := lines[0], lines[len(lines)-1]
	pod, rest := ofWhom(first.text)
	switch {
	case len(lines) == 1:
		return first.text
	case first.text == last.text:
		return fmt.Sprintf("%s (%d times until %s)", first.text, len(lines), short(last.at.Round(time.Millisecond)))
	default:
		return fmt.Sprintf("%s and %s more: %s", pod, count(len(lines)-1), rest)
	}
}

// untold says that a decision is part of no story.
func untold(e *explain.Entry) bool {
	return e.Kind == "Passed" || e.Kind == "TurnEnded" && strings.HasSuffix(e.Text, "Served")
}

// wording returns the text of a decision, with times from the start.
func wording(e *explain.Entry) string {
	text := e.String()[len(time.TimeOnly)+1:]
	if before, _, armed := strings.Cut(text, ", due "); armed && !e.Due.IsZero() {
		text = before + ", due " + e.Due.Truncate(time.Second).Sub(simulation.Epoch).String()
	}
	return text
}
