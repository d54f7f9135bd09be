package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"
	"golang.org/x/term"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
)

// Limits so that the text fits one screen. JSON has everything.
const (
	mostZones     = 8
	mostWorkloads = 5
	mostLimits    = 4
	mostUnplaced  = 3
	mostJobs      = 3
	mostLostPods  = 10
)

// screen prints an outcome on one screen.
func screen(out io.Writer, o *outcome.Outcome) error {
	w := &strings.Builder{}
	r := o.Report
	daemons := ""
	if r.DaemonSetPods > 0 {
		daemons = fmt.Sprintf(" (and %s of DaemonSets)", count(r.DaemonSetPods))
	}
	fmt.Fprintf(w, "%s: %s and %s%s, %s of virtual time\n", o.Engine, some(r.Nodes, "node"), some(r.Pods, "pod"), daemons, short(r.Until))
	is := verdict(o)
	fmt.Fprintf(w, "%s\n", is.headline)
	if len(is.more) > 0 {
		fmt.Fprintf(w, "%s\n", strings.Join(is.more, " "))
	}
	settings := o.Played
	if o.Engine != ours { // upstream's controllers only delete, pod by pod
		settings.AskBudgets, settings.Together = false, nil
	}
	tellSettings(w, &settings)
	tellBrakes(w, o)
	for _, s := range o.Set {
		fmt.Fprintf(w, "  set %s=%s\n", s.Name, s.Value)
	}
	tellIgnored(w, &o.Ignored)
	tellWarnings(w, o.Warnings)
	tellPods(w, r)
	for _, line := range timeless(&settings, r) {
		fmt.Fprintln(w, line)
	}
	tellZones(w, r)
	tellWorkloads(w, r)
	tellBudgets(w, r, settings.AskBudgets)
	tellLimits(w, &settings, r)
	for i, b := range o.Breaches {
		if i == 0 {
			fmt.Fprintln(w, "\nNot as expected")
		}
		fmt.Fprintf(w, "  %s\n", b)
	}
	_, err := io.WriteString(out, wrapped(w.String(), widthOf(out)))
	return err
}

// timeless says what takes no time in this simulation, and how to play the time that it takes.
func timeless(s *simulation.Scenario, r *simulation.Report) (lines []string) {
	if s.ReadyAfter == 0 && r.Drained > 0 {
		lines = append(lines, "drains take no time here: pods end, and their replacements are Ready, at once (reschedule.ready plays how long that takes)")
	}
	if s.KubeAPIQPS == 0 && r.WritesWouldWait >= time.Second {
		lines = append(lines, fmt.Sprintf("writes take no time here; at the usual 20 a second, the last would wait %s (config.kubeAPIQPS plays that)", short(r.WritesWouldWait)))
	}
	return lines
}

// widthOf returns the columns of a terminal. Other output has no limit, so that whole lines can be searched.
func widthOf(out io.Writer) int {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return width
		}
	}
	return math.MaxInt
}

// wrapped breaks the lines of a text that are wider, but not the rows of tables, which have gaps.
func wrapped(text string, width int) string {
	w := &strings.Builder{}
	for line := range strings.Lines(text) {
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		for utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > width && !strings.Contains(words, "  ") {
			end := strings.LastIndex(string([]rune(line)[:width+1]), " ")
			if end <= len(indent) {
				break
			}
			w.WriteString(line[:end] + "\n")
			line = indent + "  " + line[end+1:]
			words = strings.TrimLeft(line, " ")
			indent = line[:len(line)-len(words)-2]
		}
		w.WriteString(line)
	}
	return w.String()
}

func tellSettings(w io.Writer, s *simulation.Scenario) {
	c := &s.Config
	fmt.Fprintf(w, "  grace %s, pass every %s, heartbeat every %s%s\n",
		short(c.Nodes.NodeMonitorGracePeriod), short(c.Nodes.NodeMonitorPeriod), short(s.LeaseInterval), tolerance(s))
	fmt.Fprintf(w, "  %s nodes/s per zone; with %s %% or more not Ready: %s, or none in a zone of up to %s\n",
		number(c.Nodes.NodeEvictionRate), number(100*c.Nodes.UnhealthyZoneThreshold), number(c.Nodes.SecondaryNodeEvictionRate), some(c.Nodes.LargeClusterSizeThreshold, "node"))
	if s.NotReadyFor > 0 {
		fmt.Fprintf(w, "  a kubelet that starts reports Ready=False for %s\n", short(s.NotReadyFor))
	}
	if s.KubeAPIQPS > 0 {
		fmt.Fprintf(w, "  each client of the controllers sends %s writes a second\n", number(s.KubeAPIQPS))
	}
	if s.ReadyAfter > 0 {
		fmt.Fprintf(w, "  a pod is Ready %s after it is scheduled, and takes its grace period to end\n", short(s.ReadyAfter))
	}
	if s.AskBudgets {
		fmt.Fprintf(w, "  evictions go through the eviction API, which enforces disruption budgets\n")
	}
	if len(s.Together) > 0 {
		fmt.Fprintf(w, "  pods with the same value of a label leave together: %s\n", strings.Join(s.Together, ", "))
	}
	switch {
	case !c.Nodes.TaintBasedEviction:
		fmt.Fprintf(w, "  without taints: pods are deleted %s after their node fell silent\n", short(c.Nodes.PodEvictionTimeout))
	case s.ReplaceAfter >= 0:
		fmt.Fprintf(w, "  a replacement is scheduled %s after its pod may be replaced\n", short(s.ReplaceAfter))
	default:
		fmt.Fprintf(w, "  evicted pods do not come back (no reschedule)\n")
	}
}

// tellBrakes prints what bounds and spares nodes.
func tellBrakes(w io.Writer, o *outcome.Outcome) {
	if b := o.Value("budget"); b != "" {
		fmt.Fprintf(w, "  budget of nodes: %s\n", b)
	}
	if spares, err := time.ParseDuration(o.Value("maintenance")); err == nil {
		fmt.Fprintf(w, "  nodes that announce maintenance are spared for up to %s\n", short(spares))
	}
}

// tolerance says for how long pods of generated nodes tolerate an outage; nothing if there are none.
func tolerance(s *simulation.Scenario) string {
	var all []time.Duration
	for i := range s.Zones {
		z, seconds := &s.Zones[i], simulation.TolerationSeconds(300)
		if z.Nodes > 0 && z.PodsPerNode > 0 && len(z.Pod.Tolerations) > 0 {
			return "" // they may say something else
		}
		for _, set := range []*simulation.TolerationSeconds{s.DefaultTolerationSeconds, z.TolerationSeconds} {
			if set != nil {
				seconds = max(0, *set) // none, and less than nothing, are no time
			}
		}
		if z.Nodes > 0 && z.PodsPerNode > 0 {
			all = append(all, time.Duration(min(seconds, math.MaxInt32))*time.Second)
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case slices.Max(all) == 0:
		return "; generated pods tolerate no outage"
	case slices.Min(all) == slices.Max(all):
		return "; generated pods tolerate an outage for " + short(all[0])
	}
	return fmt.Sprintf("; generated pods tolerate an outage for %s to %s", short(slices.Min(all)), short(slices.Max(all)))
}

func number(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", v), "0"), ".")
}

// tellIgnored prints what is not simulated.
func tellIgnored(w io.Writer, i *outcome.Ignored) {
	var parts []string
	if i.Unbound > 0 {
		parts = append(parts, some(i.Unbound, "pod")+" without a node in the files")
	}
	for _, what := range byCount(i.Pods) {
		parts = append(parts, fmt.Sprintf("%s of %s", what, some(i.Pods[what], "pod")))
	}
	for _, kind := range byCount(i.Kinds) {
		parts = append(parts, fmt.Sprintf("%s of kind %s", count(i.Kinds[kind]), kind)) // no rule makes Endpoints and Ingress a plural
	}
	if len(i.Events) > 0 {
		parts = append(parts, some(len(i.Events), "event")+" after the end")
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "  ignored: %s\n", strings.Join(parts, "; "))
	}
}

func tellWarnings(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
}

// tellEvicted prints how many pods were evicted, when, and how late.
func tellEvicted(w io.Writer, r *simulation.Report) {
	fmt.Fprintf(w, "%s evicted", some(r.Evicted, "pod"))
	if r.Evicted > 0 {
		fmt.Fprintf(w, " from %s to %s", short(r.FirstEviction), short(r.LastEviction))
	}
	if r.Delayed > 0 {
		fmt.Fprintf(w, "; delay after the silence began: median %s, 99 %% within %s, worst %s", short(r.EvictionDelayMedian), short(r.EvictionDelayP99), short(r.EvictionDelayWorst))
	}
	if late := r.Delayed - (r.Evicted - r.EvictedFromLiveNodes); late > 0 {
		fmt.Fprintf(w, ", at least, because %s late and still there", some(late, "pod")+english.PluralWord(late, " is", " are"))
	}
	fmt.Fprintln(w)
}

func tellPods(w io.Writer, r *simulation.Report) {
	fmt.Fprintf(w, "\n%s fell silent, %s tainted NoExecute\n", some(r.KubeletFailures, "kubelet"), some(r.TaintedNodes, "node"))
	tellEvicted(w, r)
	detail := func(n int, text string) {
		if n > 0 {
			fmt.Fprintf(w, "  %s %s\n", count(n), text)
		}
	}
	detail(r.EvictedFromLiveNodes, "of them from nodes whose kubelet was alive")
	detail(r.EvictedWhileRunning, "of them from nodes that were cut off from the API and still ran them")
	detail(r.NeedlessEvictions, "of them needlessly: the node was silent for no longer than "+short(simulation.NeedlessWithin))
	detail(r.EvictedBeforeReturn-r.NeedlessEvictions, "of them from nodes that were silent for longer, and back within "+short(simulation.NeedlessWithin)+" of the eviction")
	detail(r.LostEvictions, "overdue but never evicted")
	detail(r.ReturnedPods, "came back")
	detail(r.DiedWithNodes, "died with nodes that were deleted or replaced")
	if r.LostForGood > 0 {
		fmt.Fprintf(w, "  %s lost for good, because nothing recreates them: %s\n", count(r.LostForGood), lostPods(r, mostLostPods))
	}
	detail(r.Drained-r.DrainedByForce, "evicted by drains")
	detail(r.DrainedByForce, "deleted by drains whose timeout was over")
	detail(r.Removed, "removed from nodes that are out of service or deleted")
	detail(r.RemovedWhileRunning, "removed from the API while they still ran")
	if r.CameBackPods > 0 {
		fmt.Fprintf(w, "  %s not evicted on %s that came back before being tainted\n", count(r.CameBackPods), some(r.CameBackNodes, "node"))
	}
	for _, reason := range byCount(r.Cancelled) {
		fmt.Fprintf(w, "  %s cancelled: %s\n", some(r.Cancelled[reason], "eviction"), reasons(reason))
	}
	for _, why := range byCount(r.Left) {
		fmt.Fprintf(w, "  %s on silent nodes at the end: %s\n", count(r.Left[why]), why)
	}
	if r.MostEndpointsGone > 0 {
		fmt.Fprintf(w, "%s marked not Ready, at most %s at once; without endpoints for up to %s, median %s\n", some(r.PodsWithoutEndpoints, "pod"), count(r.MostEndpointsGone),
			short(r.LongestWithoutEndpoints), short(r.MedianWithoutEndpoints))
		detail(r.RunningWithoutEndpoints, "of them although they ran")
	}
	for i := range r.FailedJobs[:min(len(r.FailedJobs), mostJobs)] {
		j := &r.FailedJobs[i]
		fmt.Fprintf(w, "Job %s failed at %s: too many of its pods failed (%s)\n", j, short(j.At), count(j.Failed))
	}
	if more := len(r.FailedJobs) - mostJobs; more > 0 {
		fmt.Fprintf(w, "… and %s failed\n", some(more, "more Job"))
	}
	atLeast, because := understated(r)
	tellPending(w, r, atLeast, because)
	if r.MostTerminating > 0 {
		fmt.Fprintf(w, "%s stuck terminating at the end, %s at the peak\n", count(r.TerminatingAtEnd), count(r.MostTerminating))
	}
	fmt.Fprintf(w, "%s%s lost (pods without a live node)%s\n", atLeast, podHours(r.PodHoursLost), because)
	if precise(r.PodHoursMissing) != "0" {
		fmt.Fprintf(w, "%s missing (pods that workloads want and that were not live)\n", podHours(r.PodHoursMissing))
	}
}

// tellPending prints how many pods found no node and why, and how many were not created for want of another.
func tellPending(w io.Writer, r *simulation.Report, atLeast, because string) {
	if r.MostPending > 0 || atLeast != "" {
		fmt.Fprintf(w, "%s%s Pending at the end, %s at the peak%s\n", atLeast, count(r.PendingAtEnd), count(r.MostPending), because)
		tellUnplaced(w, r)
	}
	if r.PendingThatCouldPreempt > 0 {
		fmt.Fprintf(w, "  %s of them at most could preempt pods of lower priority; preemption is not simulated\n", count(r.PendingThatCouldPreempt))
	}
	if r.MostHeld > 0 {
		fmt.Fprintf(w, "%s held at the end, %s at the peak: not created, because one with a lower ordinal is not Running and Ready (StatefulSets, OrderedReady)\n",
			count(r.HeldByOrder), count(r.MostHeld))
	}
}

func podHours(h float64) string {
	if text := precise(h); text != "1" {
		return text + " pod-hours"
	}
	return "1 pod-hour"
}

// understated returns the words before and after a figure that is a lower bound, because something that keeps pods from nodes
// is not simulated; otherwise none.
func understated(r *simulation.Report) (before, after string) {
	by := r.Understated
	if len(by) == 0 {
		return "", ""
	}
	var parts []string
	for _, feature := range byCount(by) {
		parts = append(parts, fmt.Sprintf("%s of %s", feature, some(by[feature], "pod")))
	}
	return "at least ", ", because these are not simulated: " + strings.Join(parts, ", ")
}

// tellUnplaced prints why pods are Pending: groups of equal requirements, the largest first.
func tellUnplaced(w io.Writer, r *simulation.Report) {
	others := r.PendingAtEnd
	for i := range r.Unplaced[:min(len(r.Unplaced), mostUnplaced)] {
		u := &r.Unplaced[i]
		fmt.Fprintf(w, "  %s like %s: %s\n", count(u.Pods), u.First, u)
		others -= u.Pods
	}
	if others > 0 {
		fmt.Fprintf(w, "  … and %s with other requirements\n", count(others))
	}
}

// hours rounds a duration so that it is easy to read.
func hours(d time.Duration) string {
	if d < 100*time.Hour {
		return number(float64(d.Round(6*time.Minute)) / float64(time.Hour))
	}
	return count(int(d.Round(time.Hour) / time.Hour))
}

func tellZones(w io.Writer, r *simulation.Report) {
	zones := slices.Clone(r.Zones)
	slices.SortStableFunc(zones, func(a, b simulation.ZoneReport) int {
		return cmp.Or(cmp.Compare(b.Evicted, a.Evicted), cmp.Compare(b.KubeletFailures, a.KubeletFailures))
	})
	c := columns{titles: []string{"ZONE", ">NODES", ">LOWEST", ">PODS", ">EVICTED", ">FIRST", ">LAST"}}
	for i := range zones[:min(len(zones), mostZones)] {
		z := &zones[i]
		first, last := "-", "-"
		if z.Evicted > 0 {
			first, last = short(z.FirstEviction), short(z.LastEviction)
		}
		c.add(zoneName(z.Name), count(z.Nodes), count(z.LowestNodes), count(z.Pods), count(z.Evicted), first, last)
	}
	fmt.Fprintln(w)
	c.write(w, "")
	if more := len(zones) - mostZones; more > 0 {
		fmt.Fprintf(w, "… and %s\n", some(more, "more zone"))
	}
}

func byCount(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
}

func reasons(reason string) string {
	if text, ok := map[string]string{
		"NodeReady":    "the node came back",
		"AllZonesDown": "every zone was down",
		"TaintRemoved": "the taint was removed",
		"Tolerated":    "it is tolerated now",
		"Completed":    "the pod had completed",
	}[reason]; ok {
		return text
	}
	return reason
}
