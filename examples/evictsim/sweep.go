package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// mostRuns limits a sweep: it has a run for each combination of the lists' values.
const mostRuns = 10_000

func sweepCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:     "sweep --set PATH=VALUE,VALUE…",
		Short:   "Play a scenario with each of several settings, and compare",
		Example: "  evictsim sweep --set config.nodeEvictionRate=.05,.1,.5 --set config.unhealthyZoneThreshold=.55,.67",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			lists, err := f.check(c)
			if err != nil {
				return err
			}
			if len(lists) == 0 {
				return usage(errors.New("sweep needs settings to try, such as --set config.nodeEvictionRate=.1,.5"))
			}
			runs, err := product(lists)
			if err != nil {
				return err
			}
			in, err := read(c.Context(), f.scenario, c.InOrStdin())
			if err != nil {
				return err
			}
			jobs := make([]*job, 0, len(runs))
			for _, sets := range runs {
				jobs = append(jobs, &job{input: in, sets: sets})
			}
			return f.several(c, jobs)
		},
	}
}

func compareCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B…",
		Short: "Play several scenarios, and compare",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(errors.New("compare needs at least two scenarios"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			sets, err := f.check(c)
			switch {
			case err != nil:
				return err
			case f.scenario != "":
				return usage(errors.New("compare takes its scenarios as arguments"))
			case slices.Contains(args, ""):
				return usage(errors.New("the name of a scenario is empty"))
			case slices.Contains(args[slices.Index(args, "-")+1:], "-"):
				return usage(errors.New("only one scenario can be -, standard input"))
			}
			var jobs []*job
			for _, path := range args {
				in, err := read(c.Context(), path, c.InOrStdin())
				if err != nil {
					return err
				}
				jobs = append(jobs, &job{input: in, sets: sets})
			}
			return f.several(c, jobs)
		},
	}
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if meant := c.SuggestionsFor(args[0]); len(meant) > 0 {
		return usage(fmt.Errorf("unexpected argument %q: do you mean %s?", args[0], strings.Join(meant, " or ")))
	}
	return usage(fmt.Errorf("unexpected argument %q", args[0]))
}

func parseSet(text string) (scenariofile.Set, error) {
	path, value, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		return scenariofile.Set{}, usage(fmt.Errorf("--set %s is not PATH=VALUE", text))
	}
	return scenariofile.Set{Path: path, Value: value}, nil
}

// product returns every combination of the lists' values. The last list varies fastest.
func product(lists []scenariofile.Set) ([][]scenariofile.Set, error) {
	runs := [][]scenariofile.Set{nil}
	for _, list := range lists {
		var next [][]scenariofile.Set
		for _, before := range runs {
			for _, value := range list.Values() {
				next = append(next, append(slices.Clone(before), scenariofile.Set{Path: list.Path, Value: value}))
			}
		}
		if len(next) > mostRuns {
			return nil, usage(fmt.Errorf("that makes %d runs or more; at most %d are allowed", len(next), mostRuns))
		}
		runs = next
	}
	return runs, nil
}

// several plays jobs with each engine and prints them side by side.
func (f *flags) several(c *cobra.Command, jobs []*job) error {
	ctx, stderr := c.Context(), c.ErrOrStderr()
	engines, err := f.engine.engines(ctx, stderr, f.quiet)
	if err != nil {
		return err
	}
	var all []*job
	for _, j := range jobs {
		for _, e := range engines {
			one := *j
			one.engine = e
			all = append(all, &one)
		}
	}
	began := time.Now()
	outcomes, err := f.playReported(ctx, all, stderr)
	if err != nil {
		return err
	}
	if err := f.printAll(c.OutOrStdout(), outcomes); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(stderr, "%s in %s\n", some(len(all), "run"), time.Since(began).Round(time.Millisecond))
	}
	unexpected := false
	for i, o := range outcomes {
		for _, breach := range o.Breaches {
			unexpected = true
			fmt.Fprintf(stderr, "run %d: %s\n", i+1, breach)
		}
	}
	if unexpected {
		return errUnexpected
	}
	return nil
}

// playReported plays jobs on all cores, and writes the report if one is wanted.
func (f *flags) playReported(ctx context.Context, jobs []*job, stderr io.Writer) ([]*outcome.Outcome, error) {
	if f.until == 0 { // else the user asked for the beginning only
		if err := warnOfLate(jobs, stderr); err != nil {
			return nil, err
		}
	}
	var told *stories
	var file *whole
	for _, j := range jobs {
		j.outputs = []string{f.timeline, under(f.report)}
	}
	if f.report != "" {
		var err error
		if file, err = create("report", under(f.report), nil); err != nil {
			return nil, err // before the runs, which may take hours
		}
		told = newStories()
		if jobs[0].engine.program == "" {
			told.of(jobs[0])
		}
		for _, j := range jobs {
			j.points = points
		}
	}
	outcomes, err := playAll(ctx, jobs, newBar(stderr, f.quiet, len(jobs), "simulating"))
	if file != nil {
		if err == nil {
			scenarios := make([]*simulation.Scenario, len(jobs))
			for i, j := range jobs {
				scenarios[i] = &j.played
			}
			err = writeReport(file, outcomes, scenarios, told, nil)
		}
		err = file.keep(err)
	}
	return outcomes, err
}

// playAll plays jobs on all cores. The first failure ends the others.
func playAll(ctx context.Context, jobs []*job, b *bar) ([]*outcome.Outcome, error) {
	defer b.finish()
	outcomes := make([]*outcome.Outcome, len(jobs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, j := range jobs {
		j.progress = b.of(i)
		group.Go(func() (err error) {
			if outcomes[i], err = j.play(ctx); err != nil {
				return err
			}
			if j.progress != nil {
				j.progress(1)
			}
			if j.ended != nil {
				j.ended(outcomes[i])
			}
			return nil
		})
	}
	return outcomes, group.Wait()
}

type comparedFigure struct{ title, figure string }

// compared are the figures that a comparison prints.
var compared = []comparedFigure{
	{"EVICTED", "evicted"}, {"NOT EVICTED", "notEvicted"}, {"NEEDLESS", "needlessEvictions"}, {"LOST", "lostEvictions"},
	{"FIRST", "firstEvictionSeconds"}, {"LAST", "lastEvictionSeconds"}, {"MEDIAN DELAY", "evictionDelayMedianSeconds"},
	{"POD-HOURS LOST", "podHoursLost"}, {"POD-HOURS MISSING", "podHoursMissing"},
	{"NO ENDPOINTS", "podsWithoutEndpoints"}, {"LONGEST", "longestWithoutEndpointsSeconds"},
	{"BELOW HALF", "workloadsBelowHalf"}, {"MOST PENDING", "mostPending"}, {"BUDGETS BROKEN", "budgetsBroken"}, {"REFUSED", "evictionsRefused"},
	{"DRAINED", "drained"}, {"FORCED", "drainsForced"}, {"GIVEN UP", "drainsGivenUp"}, {"DRAINS UNFINISHED", "drainsUnfinished"}, {"DRAINS FAILED", "drainsFailed"}, {"ROLLS UNFINISHED", "rollsUnfinished"},
}

func (f *flags) printAll(w io.Writer, outcomes []*outcome.Outcome) error {
	switch {
	case f.output == "json":
		return outcome.WriteJSON(w, outcomes)
	case f.output == "csv":
		return outcome.WriteTable(w, outcomes)
	case f.quiet:
		return nil
	}
	names := outcome.Differing(outcomes)
	var titles []string
	for _, name := range names {
		titles = append(titles, setting(name, names))
	}
	shown := slices.DeleteFunc(slices.Clone(compared), func(of comparedFigure) bool {
		return !slices.ContainsFunc(outcomes, func(o *outcome.Outcome) bool { return o.Figures[of.figure] != 0 })
	})
	for _, of := range shown {
		titles = append(titles, ">"+of.title)
	}
	table := columns{titles: titles}
	for _, o := range outcomes {
		var cells []string
		for _, name := range names {
			cells = append(cells, cmp.Or(o.Value(name), "-"))
		}
		for _, of := range shown {
			cells = append(cells, of.text(o))
		}
		table.add(cells...)
	}
	table.write(w, "")
	return nil
}

// text formats a figure for people; "-" is the time of what never happened.
func (of comparedFigure) text(o *outcome.Outcome) string {
	value, evicted := o.Figures[of.figure], o.Figures["evicted"]
	switch {
	case evicted == 0 && (of.figure == "firstEvictionSeconds" || of.figure == "lastEvictionSeconds"):
		return "-"
	case o.Report.Delayed == 0 && of.figure == "evictionDelayMedianSeconds":
		return "-"
	case strings.HasSuffix(of.figure, "Seconds"):
		return short(time.Duration(value * float64(time.Second)))
	case strings.HasPrefix(of.figure, "podHours"):
		return precise(value)
	default:
		return count(int(value))
	}
}
