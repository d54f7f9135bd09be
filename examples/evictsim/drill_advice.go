package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/drill"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/evictsim/page"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// drilled is a setting that a drill searches, and how it is applied in a cluster.
type drilled struct {
	name, path string
	of         func(*drill.Settings) string
	flags      []string // of one program, or of another
	note       string
}

var drilledSettings = []drilled{
	{
		name: "nodeEvictionRate", path: "config.nodeEvictionRate", of: func(s *drill.Settings) string { return number(s.Rate) },
		flags: []string{"kube-controller-manager --node-eviction-rate", "evictord --node-eviction-rate"},
	}, {
		name: "unhealthyZoneThreshold", path: "config.unhealthyZoneThreshold", of: func(s *drill.Settings) string { return number(s.Threshold) },
		flags: []string{"kube-controller-manager --unhealthy-zone-threshold", "evictord --unhealthy-zone-threshold"},
	}, {
		name: "nodeMonitorGracePeriod", path: "config.nodeMonitorGracePeriod", of: func(s *drill.Settings) string { return short(s.Grace) },
		flags: []string{"kube-controller-manager --node-monitor-grace-period", "evictord --node-monitor-grace-period"},
	}, {
		name: "tolerationSeconds", path: "cluster.defaultTolerationSeconds", of: func(s *drill.Settings) string { return number(s.Tolerance.Seconds()) },
		flags: []string{"kube-apiserver --default-not-ready-toleration-seconds", "kube-apiserver --default-unreachable-toleration-seconds"},
		note: "Both flags are needed, and reach only pods that are created from then on: restart the workloads. Where you cannot set them, write " +
			"tolerations into the pod templates, or let a policy that mutates pods replace the 300 that the API server has added by then.",
	},
}

// apply says how settings are applied.
func apply(s *drill.Score) (all []page.Apply) {
	for i := range drilledSettings {
		d := &drilledSettings[i]
		told := page.Apply{Setting: d.name, Note: d.note}
		for _, flag := range d.flags {
			told.Flags = append(told.Flags, flag+"="+d.of(&s.Settings))
		}
		all = append(all, told)
	}
	return all
}

// command plays the worst loss with the best settings.
func (a *assessment) command() string {
	best, loss := &a.advice.Best.Settings, &a.worst.Loss
	var files []string
	for _, file := range a.Files {
		files = append(files, strconv.Quote(file))
	}
	sets := []string{"cluster={files: [" + strings.Join(files, ", ") + "]}"}
	sets = append(sets, a.sets...)
	for i := range drilledSettings {
		if d := &drilledSettings[i]; d.of(best) != d.of(&a.advice.Today.Settings) {
			sets = append(sets, d.path+"="+d.of(best))
		}
	}
	end := drill.Begins + loss.For
	sets = append(sets, fmt.Sprintf("events=[{at: %s, fail: {%s}}, {at: %s, recover: {%s}}]", drill.Begins, loss.Where, end, loss.Where),
		"until="+loss.Until().String())
	text := "evictsim"
	for _, set := range sets {
		text += " --set '" + strings.ReplaceAll(set, "'", `'\''`) + "'"
	}
	return text
}

// advise puts what a search found into a sentence.
func advise(a *drill.Advice) string {
	if a.Best.Settings == a.Today.Settings {
		return fmt.Sprintf("Keep today's settings: of the %s played, none lowers the pod-hours before eviction or the pods evicted while running by 1 %% without raising the other, or the pod-hours lost by 1 %%.",
			some(a.Played, "setting"))
	}
	var changes []string
	for i := range drilledSettings {
		d := &drilledSettings[i]
		if today, best := d.of(&a.Today.Settings), d.of(&a.Best.Settings); today != best {
			changes = append(changes, fmt.Sprintf("%s %s (now %s)", d.name, best, today))
		}
	}
	return fmt.Sprintf("Set %s: %s, and %s%s.", strings.Join(changes, ", "),
		fewer("pod-hours before eviction", precise, a.Best.BeforeEviction, a.Today.BeforeEviction),
		fewer("pods evicted while running", evictions, a.Best.EvictedWhileRunning, a.Today.EvictedWhileRunning), worsens(&a.Best, &a.Today))
}

// worsens says which of the other figures get worse by settings; nothing if none does.
func worsens(best, today *drill.Score) string {
	var parts []string
	for _, f := range []struct {
		what        string
		text        func(float64) string
		now, before float64
	}{
		{"pod-hours lost", precise, best.PodHoursLost, today.PodHoursLost}, {"pod-hours missing", precise, best.PodHoursMissing, today.PodHoursMissing},
		{"pods Pending", counted, float64(best.MostPending), float64(today.MostPending)},
	} {
		if f.now > f.before && f.text(f.now) != f.text(f.before) {
			parts = append(parts, fmt.Sprintf("%s %s instead of %s", f.text(f.now), f.what, f.text(f.before)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; worse: " + english.WordSeries(parts, "and")
}

// fewer says how far a figure falls, if it does.
func fewer(what string, format func(float64) string, now, before float64) string {
	percent := math.Round(100 * (1 - now/max(before, 1e-9)))
	switch {
	case now == before:
		return fmt.Sprintf("as many %s (%s)", what, format(now))
	case percent < 1:
		return fmt.Sprintf("about as many %s (%s)", what, format(now))
	}
	return fmt.Sprintf("%s %s instead of %s (%s %% fewer)", format(now), what, format(before), number(percent))
}

// evictions formats an expected number of evictions.
func evictions(n float64) string {
	if n < 10 {
		return number(math.Round(10*n) / 10)
	}
	return count(int(math.Round(n)))
}

// precise formats hours, of which there may be too many for a Duration.
func precise(h float64) string {
	if h >= 100 {
		return count(int(math.Round(h)))
	}
	return hours(time.Duration(h * float64(time.Hour)))
}

// drillReport writes a page about a drill, with charts of the worst loss with today's settings and with the best.
func drillReport(ctx context.Context, w io.Writer, cluster *drill.Cluster, a *assessment) error {
	var outcomes []*outcome.Outcome
	var scenarios []*simulation.Scenario
	scores := []drill.Score{a.advice.Today}
	if a.advice.Best.Settings != a.advice.Today.Settings {
		scores = append(scores, a.advice.Best)
	}
	for _, score := range scores {
		played := cluster.Scenario(a.worst.Loss, score.Settings)
		played.Points = points
		r, err := simulation.Play(ctx, played)
		if err != nil {
			return err
		}
		var set []scenariofile.Set
		for i := range drilledSettings {
			set = append(set, scenariofile.Set{Path: drilledSettings[i].path, Value: drilledSettings[i].of(&score.Settings)})
		}
		outcomes = append(outcomes, outcome.New(ours, strings.Join(a.Files, ", "), set, played, r, scenariofile.Left{}, nil))
		scenarios = append(scenarios, &played)
	}
	return writeReport(w, outcomes, scenarios, nil, a.page())
}
