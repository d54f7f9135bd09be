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

// Choosing takes half the time if nodes renew half as often.
var coarse = slices.Concat(set("heartbeat.interval", "20s"), set("config.nodeMonitorPeriod", "10s"))

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

// playedPolicy is a policy and what it came to: in the record, and then in each false alarm.
type playedPolicy struct {
	policy   policy
	outcomes []*outcome.Outcome
}

// lost is how many pod-hours the record cost. A false alarm loses nothing by itself.
func (p *playedPolicy) lost() float64 { return p.outcomes[0].Report.PodHoursLost }

// forNothing counts the evictions that helped nobody: in the record, those from nodes that were soon back and, in each false alarm, all from nodes that
// were well.
func (p *playedPolicy) forNothing() (n int) {
	n = p.outcomes[0].Report.EvictedBeforeReturn
	for _, o := range p.outcomes[1:] {
		n += inAlarm(o)
	}
	return n
}

func inAlarm(o *outcome.Outcome) int {
	return o.Report.EvictedFromLiveNodes + o.Report.EvictedWhileRunning
}

// play plays policies on the first half, and in each false alarm, with our engine.
func (l *learner) play(ctx context.Context, r outages.Record, all []policy) (played []playedPolicy, err error) {
	jobs, err := l.jobs(ctx, alarmed(r), all, []engine{{name: ours}}, append(slices.Clone(coarse), l.sets...))
	if err != nil {
		return nil, err
	}
	outcomes, err := l.flags.playReported(ctx, jobs, l.stderr)
	if err != nil {
		return nil, err
	}
	for i, p := range all {
		is := playedPolicy{policy: p}
		for k := i; k < len(outcomes); k += len(all) {
			is.outcomes = append(is.outcomes, outcomes[k])
		}
		if !l.flags.quiet {
			fmt.Fprintf(l.stderr, "%s: %s: %s evicted for nothing, %s pod-hours lost\n", outcomes[0].Scenario, p.name, count(is.forNothing()), precise(is.lost()))
		}
		played = append(played, is)
	}
	return played, nil
}

// alarmed returns the record, and the record with each false alarm.
func alarmed(r outages.Record) []outages.Record {
	records := []outages.Record{r}
	for _, alarm := range outages.Alarms() {
		r.Alarm = &alarm
		records = append(records, r)
	}
	return records
}

// best returns the policy with the fewest evictions for nothing. It leaves out what loses much
// more than the defaults do, unless all policies do: then it returns the one that loses least.
func (l *learner) best(played []playedPolicy, defaults playedPolicy) playedPolicy {
	most := mayLose * defaults.lost()
	return slices.MinFunc(played, func(a, b playedPolicy) int {
		return cmp.Or(cmp.Compare(max(a.lost(), most), max(b.lost(), most)), cmp.Compare(a.forNothing(), b.forNothing()), cmp.Compare(a.lost(), b.lost()))
	})
}

// judge plays policies on the second half, and in each false alarm.
func (l *learner) judge(ctx context.Context, r outages.Record, all []policy) ([]*outcome.Outcome, error) {
	jobs, err := l.jobs(ctx, alarmed(r), all, l.engines, l.sets)
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

// printLearnt prints a table of a record: a row for each policy and engine, with what it came to, how many pods it evicted in each
// false alarm from nodes that were well, and the sum of these and those from nodes that were soon back.
func printLearnt(w io.Writer, outcomes []*outcome.Outcome) {
	rows := len(outcomes) / (1 + len(outages.Alarms()))
	r := outcomes[0].Report
	fmt.Fprintf(w, "%s: %s, %s, %s\n", outcomes[0].Scenario, some(r.Nodes, "node"), some(r.Pods, "pod"), short(r.Until))
	table := columns{titles: []string{"POLICY", "ENGINE", ">EVICTED", ">SOON BACK", ">POD-HOURS LOST", ">BLIND", ">PARTITION", ">LEASES", ">FOR NOTHING"}}
	for i, o := range outcomes[:rows] {
		cells := []string{o.Value("policy"), o.Engine, count(o.Report.Evicted), count(o.Report.EvictedBeforeReturn), precise(o.Report.PodHoursLost)}
		all := o.Report.EvictedBeforeReturn
		for alarm := range outages.Alarms() {
			n := inAlarm(outcomes[(alarm+1)*rows+i])
			all += n
			cells = append(cells, count(n))
		}
		table.add(append(cells, count(all))...)
	}
	table.write(w, "  ")
}
