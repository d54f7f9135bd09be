package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/evictkit/evictkit/examples/evictsim/outages"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// benchFlags select what the benchmark plays.
type benchFlags struct {
	data, record, policy, keep string
	worst                      time.Duration
	learn                      bool
}

func benchCommand(f *flags) *cobra.Command {
	var b benchFlags
	c := &cobra.Command{
		Use:   "bench",
		Short: "Play policies over recorded outages, and compare",
		Long: `Play policies over recorded outages, and compare.

The recorded outages are not part of this program: --data or the variable EVICTKIT_DATA names their folder. policies.go
lists the policies. With --engine upstream or both, the controllers of Kubernetes play those that they support.

With --keep, the scenarios stay in a folder, and below the tables stands how each row is played by itself.

With --learn, it chooses the best fixed settings and the best trials on the first half of each record. It judges them on the
second half beside the defaults, Karpenter's share and no brake, first as recorded and then with false alarms.`,
		Example: "  evictsim bench --record spot,lanl-02\n  evictsim bench --learn --record lanl-02\n  evictsim bench --policy defaults --worst 24h --engine both -o csv",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return f.bench(c, &b) },
	}
	c.Flags().StringVar(&b.data, "data", os.Getenv("EVICTKIT_DATA"), "`FOLDER` of the recorded data")
	c.Flags().StringVar(&b.record, "record", "", "only these records, such as spot,lanl-02")
	c.Flags().StringVar(&b.policy, "policy", "", "only policies whose names contain this")
	c.Flags().DurationVar(&b.worst, "worst", 0, "play only the worst window of this length, in which the most nodes of a record fail")
	c.Flags().StringVar(&b.keep, "keep", "", "write the scenarios into this new `FOLDER`, keep them, and say how each row is played")
	c.Flags().BoolVar(&b.learn, "learn", false, "choose settings on the first half of each record, judge them on the second")
	return c
}

func (f *flags) bench(c *cobra.Command, b *benchFlags) (err error) {
	ctx, stderr := c.Context(), c.ErrOrStderr()
	sets, err := f.check(c)
	switch {
	case err != nil:
		return err
	case f.scenario != "" || f.report != "":
		return usage(errors.New("bench makes its own scenarios and writes no report: leave out --scenario and --report"))
	case b.data == "":
		return usage(errors.New("bench needs recorded data: set --data FOLDER or EVICTKIT_DATA"))
	case b.worst < 0:
		return usage(fmt.Errorf("--worst %s is negative", b.worst))
	case b.learn && b.policy != "":
		return usage(errors.New("--learn has policies of its own: leave out --policy"))
	}
	records, chosen, err := b.choose()
	if err != nil {
		return err
	}
	engines, err := f.engine.engines(ctx, stderr, f.quiet)
	if err != nil {
		return err
	}
	dir, remove, err := b.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	made := maker{data: under(b.data), dir: dir}
	if b.learn {
		l := learner{maker: made, flags: f, engines: engines, sets: sets, stderr: stderr}
		return l.learn(ctx, records, c.OutOrStdout())
	}
	jobs, err := made.jobs(ctx, records, chosen, engines, sets)
	if err != nil {
		return err
	}
	began := time.Now()
	if newBar(stderr, f.quiet, 1, "") == nil && !f.quiet {
		tellRuns(jobs, stderr)
	}
	outcomes, err := f.playReported(ctx, jobs, stderr)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(err, f.tellBench(c, b, jobs, outcomes, began))
}

// folder makes the folder of the scenarios. It is removed at the end unless they are kept.
func (b *benchFlags) folder() (dir string, remove func() error, err error) {
	if b.keep != "" {
		return under(b.keep), func() error { return nil }, os.Mkdir(under(b.keep), 0o755) //nolint:gosec // as a shell makes it
	}
	dir, err = os.MkdirTemp("", "bench")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// tellBench prints the outcomes, which are those of all jobs unless the user has interrupted the others.
func (f *flags) tellBench(c *cobra.Command, b *benchFlags, jobs []*job, outcomes []*outcome.Outcome, began time.Time) error {
	var played []*outcome.Outcome
	var rows []*job
	for i, o := range outcomes {
		if o != nil {
			o.Set = slices.Insert(o.Set, 0, outcome.Field{Name: "policy", Value: jobs[i].policy.name})
			played, rows = append(played, o), append(rows, jobs[i])
		}
	}
	if !f.quiet {
		fmt.Fprintf(c.ErrOrStderr(), "%s of %d in %s\n", some(len(played), "run"), len(jobs), time.Since(began).Round(time.Second))
	}
	if len(played) == 0 {
		return nil
	}
	err := f.printBench(c.OutOrStdout(), played)
	if b.keep == "" || f.output != "text" {
		return err
	}
	fmt.Fprintln(c.OutOrStdout(), "\nHow each row is played")
	for _, j := range rows {
		fmt.Fprintf(c.OutOrStdout(), "  %s, %s, %s: %s\n", j.name, j.policy.name, j.engine.name, j.command())
	}
	return err
}

// command plays a row by itself. What a function sets no command can say.
func (j *job) command() string {
	if j.policy.tune != nil {
		return fmt.Sprintf("scenario %s with what policies.go says of this policy", j.path)
	}
	text := "evictsim --scenario '" + j.path + "'"
	for _, set := range j.sets {
		text += fmt.Sprintf(" --set '%s=%s'", set.Path, set.Value)
	}
	if j.engine.name != ours {
		text += " --engine " + j.engine.name
	}
	return text
}

// tellRuns has jobs tell when each has been played, where there is no progress bar.
func tellRuns(jobs []*job, stderr io.Writer) {
	var mu sync.Mutex
	done := 0
	for _, j := range jobs {
		j.ended = func(o *outcome.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			done++
			fmt.Fprintf(stderr, "%d of %d: %s, %s, %s: %s evicted\n", done, len(jobs), j.name, j.policy.name, j.engine.name, some(o.Report.Evicted, "pod"))
		}
	}
}

// choose returns the selected records and policies.
func (b *benchFlags) choose() (records []outages.Record, chosen []policy, err error) {
	var names []string
	for _, r := range outages.Records() {
		names = append(names, r.Name)
		if b.worst > 0 {
			r.Length = b.worst
		}
		if b.record == "" || slices.Contains(strings.Split(b.record, ","), r.Name) {
			records = append(records, r)
		}
	}
	for _, p := range policies {
		if strings.Contains(p.name, b.policy) {
			chosen = append(chosen, p)
		}
	}
	for name := range strings.SplitSeq(b.record, ",") {
		if name != "" && !slices.Contains(names, name) {
			err = errors.Join(err, usage(fmt.Errorf("record %q does not exist; the records are %s", name, strings.Join(names, ", "))))
		}
	}
	if len(chosen) == 0 {
		err = errors.Join(err, usage(fmt.Errorf("no policy's name contains %q", b.policy)))
	}
	return records, chosen, err
}

// maker makes one scenario for each record and toleration.
type maker struct {
	data, dir string
	made      map[string]input
}

// jobs returns a job for each record, policy and engine; upstream's engine plays only the policies that it supports.
func (m *maker) jobs(ctx context.Context, records []outages.Record, chosen []policy, engines []engine, sets []scenariofile.Set) (jobs []*job, err error) {
	for _, r := range records {
		for _, p := range chosen {
			in, err := m.input(ctx, r, p.toleration())
			if err != nil {
				return nil, err
			}
			for _, e := range engines {
				if e.program == "" || p.ofUpstream {
					// A row is named by its policy, so that its settings come after the user's.
					jobs = append(jobs, &job{input: in, engine: e, policy: p, sets: append(slices.Clone(sets), p.sets...), gcPercent: 200})
				}
			}
		}
	}
	return jobs, nil
}

func (m *maker) input(ctx context.Context, r outages.Record, tolerationSeconds int64) (in input, err error) {
	to := filepath.Join(m.dir, r.Title()+"-"+strconv.FormatInt(tolerationSeconds, 10))
	if in, ok := m.made[to]; ok {
		return in, nil
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return in, err
	}
	path, err := r.Make(m.data, to, tolerationSeconds)
	if err != nil {
		return in, err
	}
	if in, err = read(ctx, path, nil); err != nil {
		return in, err
	}
	in.name = r.Title()
	if m.made == nil {
		m.made = make(map[string]input)
	}
	m.made[to] = in
	return in, nil
}

// printBench prints a table for each record.
func (f *flags) printBench(w io.Writer, outcomes []*outcome.Outcome) error {
	if f.output != "text" {
		return f.printAll(w, outcomes)
	}
	for len(outcomes) > 0 {
		n := slices.IndexFunc(outcomes, func(o *outcome.Outcome) bool { return o.Scenario != outcomes[0].Scenario })
		if n < 0 {
			n = len(outcomes)
		}
		r := outcomes[0].Report
		fmt.Fprintf(w, "%s: %s, %s, %s\n", outcomes[0].Scenario, some(r.Nodes, "node"), some(r.Pods, "pod"), short(r.Until))
		table := columns{titles: []string{"POLICY", "ENGINE", ">EVICTED", ">SOON BACK", ">POD-HOURS LOST", ">SOME BELOW HALF", ">WORKLOAD-HOURS BELOW HALF", ">MOST PENDING"}}
		for _, o := range outcomes[:n] {
			below := time.Duration(0)
			for i := range o.Report.Workloads {
				below += o.Report.Workloads[i].BelowHalf
			}
			table.add(o.Value("policy"), o.Engine, count(o.Report.Evicted), count(o.Report.EvictedBeforeReturn), precise(o.Report.PodHoursLost),
				fmt.Sprintf("%.1f %%", 100*o.Report.AnyBelowHalf.Seconds()/r.Until.Seconds()), hours(below), count(o.Report.MostPending))
		}
		table.write(w, "  ")
		if outcomes = outcomes[n:]; len(outcomes) > 0 {
			fmt.Fprintln(w)
		}
	}
	return nil
}
