package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
)

// mostZoneLines is how many changes of zones are told one by one; a trace of two weeks makes thousands.
const mostZoneLines = 60

// tell prints the story of a simulation.
func tell(out io.Writer, r *simulator.Report, left scenariofile.Left) error {
	w := &strings.Builder{}
	n := func(i int) string { return humanize.Comma(int64(i)) }
	fmt.Fprintf(w, "%s nodes and %s pods, %s of virtual time\n", n(r.Nodes), n(r.Pods), r.Until)
	fmt.Fprintf(w, "edition %d: grace %s, generated pods tolerate %s\n", r.Settings.Edition, r.Settings.NodeMonitorGracePeriod, tolerate(r.Settings.TolerationSeconds))
	if left.Unbound > 0 {
		fmt.Fprintf(w, "%s more pods are bound to no node of the files and were left out\n", n(left.Unbound))
	}
	notSimulated(w, r, left)
	fmt.Fprintf(w, "\nZones\n")
	for i, l := range r.Zones {
		if i == mostZoneLines {
			fmt.Fprintf(w, "  … and %s more changes; the timeline has them all\n", n(len(r.Zones)-i))
			break
		}
		if l.Kind == scenario.KindCluster {
			fmt.Fprintf(w, "  %12s  %s\n", l.T, map[string]string{
				scenario.AllZonesDisrupted: "every zone is down: nothing is evicted for it, taints are lifted",
				scenario.ClusterNormal:     "no longer every zone is down: heartbeat clocks start anew",
			}[l.State])
			continue
		}
		fmt.Fprintf(w, "  %12s  %-18s %-18s %6s/s  %s ready, %s not\n", l.T, l.Zone, l.State, humanize.Ftoa(l.Rate), n(l.Ready), n(l.NotReady))
	}
	fmt.Fprintf(w, "\nNodes\n")
	fmt.Fprintf(w, "  %s times a kubelet fell silent, %s times a node was declared Unknown\n", n(r.NodeFailures), n(r.Unknown))
	fmt.Fprintf(w, "  %s times a node was tainted NoExecute (%s different nodes)\n", n(r.Tainted), n(r.TaintedNodes))
	fmt.Fprintf(w, "\nPods\n")
	fmt.Fprintf(w, "  %s marked not Ready\n", n(r.MarkedPods))
	fmt.Fprintf(w, "  %s evicted", n(r.Evicted))
	if r.Evicted > r.EvictedFromLive {
		fmt.Fprintf(w, ", after their node fell silent: median %s, 99th percentile %s, worst %s", round(r.Delays.Median), round(r.Delays.P99), round(r.Delays.Worst))
	}
	fmt.Fprintln(w)
	if r.EvictedFromLive > 0 {
		fmt.Fprintf(w, "  %s of them from nodes whose kubelet was alive\n", n(r.EvictedFromLive))
	}
	if r.Rescheduled+r.Waiting > 0 {
		fmt.Fprintf(w, "  %s came back on another node, %s still wait for one\n", n(r.Rescheduled), n(r.Waiting))
	}
	fmt.Fprintf(w, "  all together they were %s without a live node\n", age(r.Stranded))
	fmt.Fprintf(w, "\nSpared\n")
	if r.CameBackPods > 0 {
		fmt.Fprintf(w, "  %s on %s nodes that came back before they were tainted\n", n(r.CameBackPods), n(r.CameBackNodes))
	}
	for _, reason := range byCount(r.Cancelled) {
		fmt.Fprintf(w, "  %s evictions cancelled: %s\n", n(r.Cancelled[reason]), reasons(reason))
	}
	for _, why := range byCount(r.Left) {
		fmt.Fprintf(w, "  %s on silent nodes at the end: %s\n", n(r.Left[why]), why)
	}
	if r.CameBackPods+len(r.Cancelled)+len(r.Left) == 0 {
		fmt.Fprintln(w, "  nothing needed to be")
	}
	_, err := io.WriteString(out, w.String())
	return err
}

// notSimulated names what the files hold that plays no part.
func notSimulated(w io.Writer, r *simulator.Report, left scenariofile.Left) {
	if len(left.Kinds)+len(r.NotSimulated) == 0 {
		return
	}
	fmt.Fprintf(w, "\nNot simulated\n")
	for _, kind := range byCount(left.Kinds) {
		why := ""
		if kind == "PodDisruptionBudget" {
			why = ": deletion does not ask them, and time below them is not reported"
		}
		fmt.Fprintf(w, "  %s objects of kind %s%s\n", humanize.Comma(int64(left.Kinds[kind])), kind, why)
	}
	for _, what := range byCount(r.NotSimulated) {
		fmt.Fprintf(w, "  %s pods with %s\n", humanize.Comma(int64(r.NotSimulated[what])), what)
	}
}

func tolerate(t scenario.TolerationSeconds) string {
	if t == scenario.NoToleration {
		return "nothing"
	}
	return fmt.Sprintf("an outage for %ds unless their zone says otherwise", t)
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

func round(d time.Duration) time.Duration { return d.Round(time.Second) }

// age is a long time, in days once it has some.
func age(d time.Duration) string {
	if d < 48*time.Hour {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%s days", humanize.CommafWithDigits(d.Hours()/24, 1))
}
