// Evictsim plays a scenario through the evictor in virtual time, and reports what became of the pods. Without arguments
// it plays an embedded scenario: go run -C examples ./evictsim.
//
// Exit codes: 0 for success, 2 if an expectation of the scenario does not hold, 64 for wrong usage and for faults in the
// user's input, 130 after Ctrl-C, and 1 for all else, such as a file that cannot be read or a cluster that does not answer.
//
// With --pressure it plays no scenario but a node: a record of what the node and its pods used goes through the kubelet's
// eviction machine. With --pressure-live it asks the kubelet of a node what it measures, and --record writes the record.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

//go:embed default.yaml
var defaultScenario []byte

type flags struct {
	scenario, timeline string
	sets               []string
	output             string
	engine             engineFlags
	report             string
	quiet              bool
	seed               int64
	until              time.Duration // for a node, negative means no end
	pressure           pressureFlags
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() {
		stop()                            // a second Ctrl-C ends it at once
		time.AfterFunc(patience, abandon) // to build a large cluster, or to pass over very many nodes, may take longer
	})
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, errUnexpected) {
		fmt.Fprintln(os.Stderr, "evictsim:", complaint(err))
	}
	os.Exit(exitCode(err))
}

// complaint returns what is printed about an error.
func complaint(err error) string {
	if exitCode(err) == interruptedCode {
		return "interrupted"
	}
	return err.Error()
}

// patience is how long an orderly end may take.
const patience = 700 * time.Millisecond

const interruptedCode = 130

var (
	errUnexpected = errors.New("the result is not as the scenario expects")
	errUsage      = errors.New("see evictsim --help")
)

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUnexpected):
		return 2
	case errors.Is(err, errUsage), errors.As(err, new(*inputError)):
		return 64
	case errors.Is(err, context.Canceled):
		return interruptedCode
	default:
		return 1
	}
}

// inputError is a fault in a file that the user wrote.
type inputError struct{ error }

func (e *inputError) Unwrap() error { return e.error }

// ofInput marks an error as a fault in the input, unless the file could not be read or the user interrupted.
func ofInput(err error) error {
	if err == nil || errors.As(err, new(*fs.PathError)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &inputError{err}
}

func usage(err error) error { return fmt.Errorf("%w (%w)", err, errUsage) }

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	command := commands()
	command.SetArgs(args)
	command.SetIn(stdin)
	command.SetOut(stdout)
	command.SetErr(stderr)
	return command.ExecuteContext(ctx)
}

func commands() *cobra.Command {
	var f flags
	root := &cobra.Command{
		Use:   "evictsim",
		Short: "Play a scenario of failing nodes in virtual time, and report what became of the pods",
		Example: `  evictsim --scenario zone-lost.yaml
  evictsim --set config.nodeEvictionRate=0.5 -o json
  evictsim sweep --set config.unhealthyZoneThreshold=.5,.66,.67,.8
  evictsim compare today.yaml tomorrow.yaml
  evictsim explain --pod default/a-017-p3`,
		Args:          noArguments,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE:              func(c *cobra.Command, _ []string) error { return f.root(c) },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	all := root.PersistentFlags()
	all.SortFlags, root.Flags().SortFlags = false, false
	all.StringVar(&f.scenario, "scenario", "", "scenario `FILE` to play, - for standard input; by default an embedded one")
	all.StringArrayVar(&f.sets, "set", nil, "set `PATH=VALUE` in the scenario, such as config.nodeEvictionRate=0.5 or cluster.zones.a.nodes=70")
	all.DurationVar(&f.until, "until", 0, "end at this time, whatever the scenario says")
	all.StringVarP(&f.output, "output", "o", "text", "text, json or csv")
	all.BoolVar(&f.quiet, "quiet", false, "print no text report and no progress")
	all.StringVar(&f.report, "report", "", "write a page of charts that opens offline to `FILE`.html")
	f.engine.add(all)
	root.Flags().StringVar(&f.timeline, "timeline", "", "write the timeline as JSON lines to `FILE`, - for stdout (the text report then goes to stderr)")
	root.Flags().Int64Var(&f.seed, "seed", 0, "")
	_ = root.Flags().MarkHidden("seed") // the flag exists
	f.pressure.add(root.Flags())
	root.AddCommand(sweepCommand(&f), compareCommand(&f), explainCommand(&f), snapshotCommand(&f), drillCommand(&f), benchCommand(&f))
	return root
}

// root plays one scenario, or a node.
func (f *flags) root(c *cobra.Command) error {
	ctx, stdout, stderr := c.Context(), c.OutOrStdout(), c.ErrOrStderr()
	if on, err := f.pressure.check(c.Flags()); err != nil {
		return usage(err)
	} else if on {
		if !c.Flags().Changed("until") {
			f.until = -1
		}
		return pressure(ctx, *f, stdout, stderr)
	}
	sets, err := f.check(c)
	if err != nil {
		return err
	}
	if c.Flags().Changed("seed") && !f.quiet {
		fmt.Fprintln(stderr, "--seed does nothing: nothing in a simulation is random")
	}
	if err := f.destinations(); err != nil {
		return err
	}
	in, err := read(ctx, f.scenario, c.InOrStdin())
	if err != nil {
		return err
	}
	engines, err := f.engine.engines(ctx, stderr, f.quiet)
	if err != nil {
		return err
	}
	if len(engines) > 1 {
		if f.timeline != "" {
			return usage(errors.New("--timeline needs a single engine"))
		}
		return f.bothEngines(ctx, in, sets, engines, stdout, stderr)
	}
	o, err := f.playOne(ctx, &job{input: in, sets: sets, engine: engines[0]}, stdout, stderr)
	if err != nil {
		return err
	}
	w := stdout
	if f.timeline == "-" {
		w = stderr
	}
	return f.print(w, o)
}

// destinations checks the output files before anything is written.
func (f *flags) destinations() error {
	f.timeline = under(f.timeline)
	switch {
	case f.output != "text" && f.timeline == "-":
		return usage(errors.New("--timeline - and --output cannot both go to stdout"))
	case same(f.timeline, under(f.scenario)):
		return usage(fmt.Errorf("--timeline would overwrite the scenario %s", f.scenario))
	case f.report != "" && under(f.report) == f.timeline:
		return usage(errors.New("--report needs a separate file"))
	}
	return nil
}

// check checks the flags that all commands have, and returns the settings of --set and --until.
func (f *flags) check(c *cobra.Command) (sets []scenariofile.Set, err error) {
	switch {
	case c.Flags().Changed("scenario") && f.scenario == "":
		return nil, usage(errors.New("--scenario is empty: leave it out for the embedded scenario")) // such as an unset variable
	case c.Flags().Changed("until") && f.until < 0:
		return nil, usage(fmt.Errorf("--until %s is negative", f.until))
	case f.output != "text" && f.output != "json" && f.output != "csv":
		return nil, usage(fmt.Errorf("--output %s is neither text, json nor csv", f.output))
	case f.report == "-":
		return nil, usage(errors.New("--report needs the name of a file"))
	case !isPage(f.report):
		return nil, usage(fmt.Errorf("--report %s: a report is a page of HTML: give it a name that ends in .html", f.report))
	}
	for _, text := range f.sets {
		set, err := parseSet(text)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	if c.Flags().Changed("until") {
		sets = append(sets, scenariofile.Set{Path: "until", Value: f.until.String(), Flag: "--until " + f.until.String()})
	}
	return sets, nil
}

// playOne plays a job and writes its timeline and progress.
func (f *flags) playOne(ctx context.Context, j *job, stdout, stderr io.Writer) (o *outcome.Outcome, err error) {
	began := time.Now()
	if f.timeline != "" {
		file, err := create("timeline", f.timeline, stdout)
		if err != nil {
			return nil, err
		}
		j.line = timeline.To(file)
		o, err = f.timed(ctx, j, stderr)
		if err = file.keep(err); err != nil {
			return nil, err
		}
	} else if o, err = f.timed(ctx, j, stderr); err != nil {
		return nil, err
	}
	if !f.quiet {
		fmt.Fprintf(stderr, "read and played in %s\n", time.Since(began).Round(time.Millisecond))
	}
	return o, nil
}

func (f *flags) timed(ctx context.Context, j *job, stderr io.Writer) (*outcome.Outcome, error) {
	outcomes, err := f.playReported(ctx, []*job{j}, stderr)
	if err != nil {
		return nil, err
	}
	return outcomes[0], nil
}

// print prints an outcome, and returns errUnexpected if the scenario expects another.
func (f *flags) print(w io.Writer, o *outcome.Outcome) (err error) {
	switch {
	case f.output == "json":
		err = outcome.WriteJSON(w, []*outcome.Outcome{o})
	case f.output == "csv":
		err = outcome.WriteCSV(w, []*outcome.Outcome{o})
	case !f.quiet:
		err = screen(w, o)
	default:
		for _, breach := range o.Breaches {
			fmt.Fprintln(w, breach)
		}
	}
	if err == nil && len(o.Breaches) > 0 {
		return errUnexpected
	}
	return err
}
