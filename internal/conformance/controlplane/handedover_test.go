package controlplane

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// handedOver is what the API server saw of one cell.
type handedOver struct {
	program, way, moment int
	gap                  time.Duration // from the loss of the leader to the next one's lease
	missing              error         // what did not happen
	lost                 int           // pods that stayed and should not have
	doubled              int           // deletions of pods that had been deleted
	again                int           // nodes that were tainted, lifted and tainted again
	wrong                []string      // what was done to healthy nodes and to their pods
	early                []string      // pods that left before their nodes' taints allowed
	late                 time.Duration // how late the last pod was, counted from the end of its toleration
	taints, evictions    int           // nodes of one zone that were tainted, or whose overdue pods began to leave, within window
	overdue              int           // nodes of one zone whose pods fell due while nobody led; a new leader evicts them at the zone's pace
	others               int           // like evictions, for the other nodes: their pods leave when due, at the pace of the taints
}

// window is long enough to notice twice the pace.
const window = 4 * time.Second

// allowed is how many nodes of a zone may be acted on within window: those that the pace allows, one token at hand, and
// one at hand for the next leader, which has its own pace.
const allowed = int(window/time.Second)*pacePerZone + 2

// check fails the test if a hand-over went wrong.
func (h handedOver) check(t *testing.T) {
	t.Helper()
	require.NoError(t, h.missing)
	require.Zero(t, h.lost)
	require.Zero(t, h.doubled)
	require.Zero(t, h.again)
	require.Empty(t, h.wrong)
	require.Empty(t, h.early)
	require.LessOrEqual(t, h.taints, allowed, "the pace of taints")
	require.LessOrEqual(t, h.evictions, allowed, "the pace of what was overdue")
	require.LessOrEqual(t, h.others, allowed, "the pace of other evictions")
}

// judge reads what happened to each node and pod from what the API server recorded of both replicas.
func (h *handOver) judge(t *testing.T, lost, led time.Time) (result handedOver) {
	t.Helper()
	tainted, deleted := h.written(t, &result)
	zone, first := map[string]string{}, map[string]time.Time{}
	for z := range h.fleet.Config.Zones {
		for _, node := range h.fleet.Zone(z) {
			zone[node] = fmt.Sprint("zone-", z)
		}
	}
	h.c.view.Look(func(now *Now) {
		for _, node := range h.failing {
			var added time.Time
			if at := timeAdded(now.Node(node)); at != nil {
				added = at.Time
			}
			for _, pod := range h.fleet.Pods(node) {
				at := deleted[pod]
				if len(at) == 0 {
					result.lost++
					continue
				}
				result.doubled += len(at) - 1
				if tainted[node].IsZero() {
					tainted[node] = added // the API server went while it answered
				}
				if at[0].Sub(added) < h.fleet.Config.Toleration {
					result.early = append(result.early, fmt.Sprintf("%s after %s", pod, at[0].Sub(added)))
				}
				result.late = max(result.late, at[0].Sub(tainted[node])-h.fleet.Config.Toleration)
				if began, ok := first[node]; !ok || at[0].Before(began) {
					first[node] = at[0]
				}
			}
		}
		for _, node := range h.well {
			if _, unknown := now.Unknown(node); unknown || HasNoExecute(now.Node(node)) || !tainted[node].IsZero() {
				result.wrong = append(result.wrong, node)
			}
			for _, pod := range h.fleet.Pods(node) {
				if len(deleted[pod]) > 0 {
					result.wrong = append(result.wrong, pod)
				}
			}
		}
	})
	result.taints = most(tainted, zone, window)
	due, late, others := map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}
	for node, left := range first {
		if at := tainted[node].Add(h.fleet.Config.Toleration); at.After(lost) && at.Before(led) {
			due[node], late[node] = at, left
		} else {
			others[node] = left
		}
	}
	result.overdue, result.evictions, result.others = most(due, zone, time.Hour), most(late, zone, window), most(others, zone, window)
	return result
}

// written returns when nodes were first tainted and when pods were deleted, by the requests of both replicas.
func (h *handOver) written(t *testing.T, result *handedOver) (tainted map[string]time.Time, deleted map[string][]time.Time) {
	t.Helper()
	var requests []Request
	for _, r := range h.replicas {
		sent, err := h.c.plane.Requests(r.Name)
		require.NoError(t, err)
		requests = append(requests, sent...)
	}
	slices.SortFunc(requests, func(a, b Request) int { return a.At.Compare(b.At) })
	tainted, deleted = map[string]time.Time{}, map[string][]time.Time{}
	has := map[string]bool{}
	for _, r := range requests {
		switch {
		case r.Code >= 300:
		case r.Verb == "delete" && r.Resource == "pods":
			deleted[r.Name] = append(deleted[r.Name], r.At)
		case r.Verb == "patch" && r.Resource == "nodes":
			evicting, speaks := noExecuteIn(t, r.Body)
			if !speaks {
				continue
			}
			if evicting && tainted[r.Name].IsZero() {
				tainted[r.Name] = r.At
			} else if evicting && !has[r.Name] {
				result.again++
			}
			has[r.Name] = evicting
		}
	}
	return tainted, deleted
}

// noExecuteIn says whether a patch of a node is one of taints, and whether it contains a taint that evicts.
func noExecuteIn(t *testing.T, body string) (evicting, speaks bool) {
	t.Helper()
	var patch struct{ Spec struct{ Taints []v1.Taint } }
	require.NoError(t, json.Unmarshal([]byte(body), &patch))
	for _, taint := range patch.Spec.Taints {
		evicting = evicting || taint.Effect == v1.TaintEffectNoExecute
	}
	return evicting, strings.Contains(body, `"taints"`)
}

// most returns the greatest number of nodes of one zone within any span of that length.
func most(at map[string]time.Time, zone map[string]string, long time.Duration) (n int) {
	by := map[string][]time.Time{}
	for node, when := range at {
		by[zone[node]] = append(by[zone[node]], when)
	}
	for _, times := range by {
		slices.SortFunc(times, time.Time.Compare)
		for i := range times {
			within := 0
			for _, other := range times[i:] {
				if other.Sub(times[i]) < long {
					within++
				}
			}
			n = max(n, within)
		}
	}
	return n
}

// handOverTable prints the cells, each program's beside the other's.
func handOverTable(seen []handedOver) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %-14s | %-21s | %-23s | %8s | %8s | %4s | %7s | %5s | %5s | %5s | %6s | %9s | %7s |\n",
		"leader", "moment", "program", "gap", "late", "lost", "doubled", "again", "wrong", "early", "taints", "evictions", "overdue")
	fmt.Fprintln(&b, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	slices.SortFunc(seen, func(a, b handedOver) int {
		return (a.way-b.way)*100 + (a.moment-b.moment)*10 + a.program - b.program
	})
	for _, s := range seen {
		fmt.Fprintf(&b, "| %-14s | %-21s | %-23s | %6.1f s | %6.1f s | %4d | %7d | %5d | %5d | %5d | %6d | %9d | %7d |\n",
			ways[s.way].name, moments[s.moment].name, programs[s.program].name, s.gap.Seconds(), s.late.Seconds(),
			s.lost, s.doubled, s.again, len(s.wrong), len(s.early), s.taints, s.evictions, s.overdue)
	}
	fmt.Fprintf(&b, "late: the last pod, after its node's taint and the toleration; taints, evictions: nodes of a zone within %s, of which the pace allows %d and a leader's first turn one more each\n",
		window, int(window/time.Second)*pacePerZone)
	return b.String()
}
