package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/evictkit/evictkit/examples/evictsim/outages"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// learner chooses settings on the first half of a record, and judges them on the second.
type learner struct {
	maker
	flags   *flags
	engines []engine
	sets    []scenariofile.Set
	stderr  io.Writer
}

// mayLose is how many times the defaults' pod-hours a setting may lose on the half on which it is chosen. It is less than the
// 1.05 of the other half, because halves differ.
const mayLose = 1.04

// Rare status reports save time and change no outcome: leases tell the same.
var learnt = set("heartbeat.statusInterval", "24h")

// Choosing takes half the time if nodes renew half as often.
var coarse = slices.Concat(learnt, set("heartbeat.interval", "20s"), set("config.nodeMonitorPeriod", "10s"))

func (l *learner) learn(ctx context.Context, records []outages.Record, w io.Writer) error {
	var all []*outcome.Outcome
	for i, r := range records {
		began := time.Now()
		r.Half = 1
		chosen, err := l.choose(ctx, r)
		if err != nil {
			return err
		}
		r.Half = 2
		judged, err := l.judge(ctx, r, append(named("defaults"), append(chosen, named("20 % of a zone (Karpenter)", "no brake")...)...))
		if err != nil {
			return err
		}
		if l.flags.output != "text" {
			all = append(all, judged...)
			continue
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		printLearnt(w, judged)
		if !l.flags.quiet {
			fmt.Fprintf(l.stderr, "%s in %s\n", r.Name, time.Since(began).Round(time.Second))
		}
	}
	if l.flags.output != "text" {
		return l.flags.printAll(w, all)
	}
	return nil
}

// choose returns the best fixed setting and the best trials.
func (l *learner) choose(ctx context.Context, r outages.Record) ([]policy, error) {
	settings, err := l.play(ctx, r, fixed())
	if err != nil {
		return nil, err
	}
	best := l.best(settings, settings[0])
	tried, err := l.play(ctx, r, trials(cmp.Or(best.policy.tolerance, usualTolerance)))
	if err != nil {
		return nil, err
	}
	trial := l.best(tried, settings[0])
	best.policy.name, trial.policy.name = "best fixed: "+best.policy.name, "best "+trial.policy.name
	return []policy{best.policy, trial.policy}, nil
}

// playedPolicy is a policy and its outcome.
type playedPolicy struct {
	policy  policy
	outcome *outcome.Outcome
}

// play plays policies on the first half with our engine.
func (l *learner) play(ctx context.Context, r outages.Record, all []policy) (played []playedPolicy, err error) {
	jobs, err := l.jobs(ctx, []outages.Record{r}, all, []engine{{name: ours}}, append(slices.Clone(coarse), l.sets...))
	if err != nil {
		return nil, err
	}
	outcomes, err := l.flags.playReported(ctx, jobs, l.stderr)
	for i, o := range outcomes {
		if err == nil && !l.flags.quiet {
			fmt.Fprintf(l.stderr, "%s: %s: %s needless, %s pod-hours lost\n", o.Scenario, all[i].name, count(o.Report.NeedlessEvictions), precise(o.Report.PodHoursLost))
		}
		played = append(played, playedPolicy{all[i], o})
	}
	return played, err
}

// best returns the policy with the fewest needless evictions among those that lose at most mayLose, or the one that loses least
// if all lose more.
func (l *learner) best(played []playedPolicy, defaults playedPolicy) playedPolicy {
	most := mayLose * defaults.outcome.Report.PodHoursLost
	return slices.MinFunc(played, func(a, b playedPolicy) int {
		x, y := a.outcome.Report, b.outcome.Report
		return cmp.Or(cmp.Compare(max(x.PodHoursLost, most), max(y.PodHoursLost, most)),
			cmp.Compare(x.NeedlessEvictions, y.NeedlessEvictions), cmp.Compare(x.PodHoursLost, y.PodHoursLost))
	})
}

// judge plays policies on the second half, and in each false alarm.
func (l *learner) judge(ctx context.Context, r outages.Record, all []policy) ([]*outcome.Outcome, error) {
	records := []outages.Record{r}
	for _, alarm := range outages.Alarms() {
		r.Alarm = &alarm
		records = append(records, r)
	}
	jobs, err := l.jobs(ctx, records, all, l.engines, append(slices.Clone(learnt), l.sets...))
	if err != nil {
		return nil, err
	}
	outcomes, err := l.flags.playReported(ctx, jobs, l.stderr)
	for i, o := range outcomes {
		if err == nil {
			o.Set = slices.Insert(o.Set, 0, outcome.Field{Name: "policy", Value: jobs[i].policy.name})
		}
	}
	return outcomes, err
}

// printLearnt prints the table of a record: for each policy and engine its outcome, and how many pods it evicted from well
// nodes in each false alarm.
func printLearnt(w io.Writer, outcomes []*outcome.Outcome) {
	rows := len(outcomes) / (1 + len(outages.Alarms()))
	r := outcomes[0].Report
	fmt.Fprintf(w, "%s: %s, %s, %s\n", outcomes[0].Scenario, some(r.Nodes, "node"), some(r.Pods, "pod"), short(r.Until))
	table := columns{titles: []string{"POLICY", "ENGINE", ">EVICTED", ">NEEDLESS", ">POD-HOURS LOST", ">BLIND", ">PARTITION", ">LEASES"}}
	for i, o := range outcomes[:rows] {
		cells := []string{o.Value("policy"), o.Engine, count(o.Report.Evicted), count(o.Report.NeedlessEvictions), precise(o.Report.PodHoursLost)}
		for alarm := range outages.Alarms() {
			of := outcomes[(alarm+1)*rows+i].Report
			cells = append(cells, count(of.EvictedFromLiveNodes+of.EvictedWhileRunning))
		}
		table.add(cells...)
	}
	table.write(w, "  ")
}
