package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
)

// bare is the workload of pods that have none.
const bare = "(no workload)"

// owners says to which workload a pod belongs, by the pod's name in timelines. Those that come later belong to that of the pod that
// they replace, or to the one whose name theirs begins with.
type owners struct {
	of       map[string]string
	prefixes map[string]string // how names of pods begin, by workload
}

// ownersIn returns those of the pods of a world.
func ownersIn(w *simulation.World) owners {
	all, clients := owners{make(map[string]string), make(map[string]string)}, w.Clients()
	clients.Nodes.Nodes(func(n *v1.Node) bool {
		clients.Pods.PodsOnNode(n.Name, func(pod *v1.Pod) bool {
			of := bare
			if kind, name := simulation.ControllerOf(&pod.ObjectMeta); kind != "" {
				of = pod.Namespace + "/" + kind + "/" + name
				all.prefixes[of] = inTimelines(pod.Namespace, name) + "-"
			}
			all.of[inTimelines(pod.Namespace, pod.Name)] = of
			return true
		})
		return true
	})
	return all
}

func (o owners) owner(pod string) string {
	if of, known := o.of[pod]; known {
		return of
	}
	best, longest := bare, 0
	for of, prefix := range o.prefixes {
		if is := len(prefix); strings.HasPrefix(pod, prefix) && !strings.Contains(pod[is:], "/") && (is > longest || is == longest && of < best) {
			best, longest = of, is
		}
	}
	return best
}

// inTimelines is how timelines name a pod.
func inTimelines(namespace, name string) string {
	return strings.TrimPrefix(namespace+"/"+name, v1.NamespaceDefault+"/")
}

// deed is something that a timeline says of a pod.
type deed struct {
	what      string // left, came, waits
	pod, node string
}

// deeds are those that an engine's timeline says, by their times.
type deeds map[deed][]time.Duration

// apart notes what two engines do, which may play at the same time.
type apart struct {
	owners owners
	lines  [2][]timeline.Line // about pods that go, come and wait
}

// line notes a line of an engine's timeline.
func (a *apart) line(engine int, l *timeline.Line) {
	switch l.Kind {
	case timeline.KindEvict, timeline.KindDrain, timeline.KindRemove, timeline.KindSchedule, timeline.KindPending:
		a.lines[engine] = append(a.lines[engine], *l)
	}
}

// deeds are those of an engine for each workload and node, by outcome.Apart.Of.
func (a *apart) deeds(engine int) map[string]deeds {
	all, owners := make(map[string]deeds), owners{maps.Clone(a.owners.of), a.owners.prefixes}
	for i := range a.lines[engine] {
		l := &a.lines[engine][i]
		d := deed{"left", l.Pod, l.Node}
		if l.Kind == timeline.KindPending {
			d.what = "waits"
		} else if l.Kind == timeline.KindSchedule {
			d.what = "came"
			var more struct{ Was string }
			if json.Unmarshal([]byte("{"+strings.TrimPrefix(l.More, ",")+"}"), &more) == nil && more.Was != "" {
				owners.of[l.Pod] = owners.owner(more.Was)
			}
		}
		keys := []string{workload + owners.owner(l.Pod)}
		if l.Node != "" {
			keys = append(keys, onNode+l.Node)
		}
		for _, key := range keys {
			if all[key] == nil {
				all[key] = make(deeds)
			}
			all[key][d] = append(all[key][d], l.T)
		}
	}
	return all
}

// Before the names of a workload and of a node.
const workload, onNode = "workload ", "node "

// count returns how many pods there are of which such a thing is said, or how often if each counts.
func (d deeds) count(what string) (n int) {
	for of, times := range d {
		if of.what == what && what == "waits" {
			n++ // a pod is tried again and again
		} else if of.what == what {
			n += len(times)
		}
	}
	return n
}

// within is how far apart two engines do the same. Upstream's queues have ticks.
const within = time.Second

// first returns when one of two engines first does what the other does not; false if there is no such time.
func first(ours, theirs deeds) (at time.Duration, differs bool) {
	for _, sides := range [][2]deeds{{ours, theirs}, {theirs, ours}} {
		for d, times := range sides[0] {
			for i, t := range times {
				others := sides[1][d]
				if d.what == "waits" && (i > 0 || len(others) > 0) || i < len(others) && (others[i]-t).Abs() <= within {
					continue
				}
				if !differs || t < at {
					at, differs = t, true
				}
				break
			}
		}
	}
	return at, differs
}

// differences returns the workloads and nodes that differ, those first that differ first.
func (a *apart) differences(reports [2]*simulation.Report) []outcome.Apart {
	of := [2]map[string]deeds{a.deeds(0), a.deeds(1)}
	keys := maps.Clone(of[1])
	maps.Copy(keys, of[0])
	var all []outcome.Apart
	for key := range keys {
		at, differs := first(of[0][key], of[1][key])
		if !differs {
			continue
		}
		row := outcome.Apart{Of: key, FirstSeconds: at.Seconds()}
		for i := range row.Engines {
			d := of[i][key]
			row.Engines[i] = outcome.Deeds{Evicted: d.count("left"), Replaced: d.count("came"), Pending: d.count("waits")}
			for k := range reports[i].Workloads {
				if w := &reports[i].Workloads[k]; key == workload+w.String() {
					row.Engines[i].ReadyHours = float64(w.Desired)*reports[i].Until.Hours() - w.PodHoursMissing
				}
			}
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b outcome.Apart) int {
		return cmp.Or(strings.Compare(b.Of[:1], a.Of[:1]), cmp.Compare(a.FirstSeconds, b.FirstSeconds), cmp.Compare(a.Of, b.Of))
	})
	return all
}

// mostApart is how many workloads, and how many nodes, are printed.
const mostApart = 20

// tellApart prints where two engines differ.
func tellApart(w io.Writer, all []outcome.Apart) {
	for _, of := range []struct {
		kind, plural string
		titles       []string
	}{
		{workload, "workloads", []string{"WORKLOAD", ">EVICTED", ">REPLACED", ">PENDING", ">READY-HOURS", ">FIRST"}},
		{onNode, "nodes", []string{"NODE", ">EVICTED", ">BOUND", ">FIRST"}},
	} {
		rows := slices.DeleteFunc(slices.Clone(all), func(a outcome.Apart) bool { return !strings.HasPrefix(a.Of, of.kind) })
		fmt.Fprintf(w, "\nPods by %s, where the engines are more than %s apart (%s / %s)\n", strings.TrimSpace(of.kind), short(within), ours, upstream)
		if len(rows) == 0 {
			fmt.Fprintln(w, "  nowhere")
			continue
		}
		table := columns{titles: of.titles}
		for _, a := range rows[:min(len(rows), mostApart)] {
			pair := func(figure func(*outcome.Deeds) string) string {
				return figure(&a.Engines[0]) + " / " + figure(&a.Engines[1])
			}
			cells := []string{
				strings.TrimPrefix(a.Of, of.kind), pair(func(d *outcome.Deeds) string { return count(d.Evicted) }), pair(func(d *outcome.Deeds) string { return count(d.Replaced) }),
			}
			if of.kind == workload {
				cells = append(cells, pair(func(d *outcome.Deeds) string { return count(d.Pending) }), pair(func(d *outcome.Deeds) string { return number(d.ReadyHours) }))
			}
			table.add(append(cells, short(time.Duration(a.FirstSeconds*float64(time.Second))))...)
		}
		table.write(w, "  ")
		if more := len(rows) - mostApart; more > 0 {
			fmt.Fprintf(w, "  and %s %s\n", count(more), of.plural)
		}
	}
}
