// Simulate plays a scenario through the evictor in virtual time and tells what became of it. Without
// arguments it plays an embedded one: go run -C examples ./simulate.
//
// With --pressure it plays a record of what a node and its pods used through the kubelet's eviction machine
// instead, and with --pressure-live what the machine that it runs on uses, of which --record makes a record.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
)

//go:embed default.yaml
var defaultScenario []byte

type flags struct {
	scenario, timeline string
	quiet              bool
	seed               int64
	until              time.Duration // of a node negative for no end
	pressure           pressureFlags
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Millions of compact records live long and little else does: collecting sooner costs little time.
	debug.SetGCPercent(30)
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f flags
	set := pflag.NewFlagSet("simulate", pflag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.scenario, "scenario", "", "scenario `FILE` to play; without it an embedded one")
	set.StringVar(&f.timeline, "timeline", "", "write the timeline as JSON lines to `FILE`, - for stdout (then the story goes to stderr)")
	set.BoolVar(&f.quiet, "quiet", false, "no story and no progress")
	set.Int64Var(&f.seed, "seed", 0, "accepted for scripts; nothing in a simulation is random")
	set.DurationVar(&f.until, "until", 0, "end there instead of where the scenario says")
	f.pressure.add(set)
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if set.Changed("until") && f.until < 0 {
		return fmt.Errorf("--until %s is negative", f.until)
	}
	if on, err := f.pressure.check(set); err != nil {
		return err
	} else if on {
		if !set.Changed("until") {
			f.until = -1
		}
		return pressure(ctx, f, stdout, stderr)
	}
	s, err := load(f.scenario)
	if err != nil {
		return err
	}
	if set.Changed("until") {
		until := scenario.Duration(f.until)
		s.Until = &until
	}
	cluster := simulator.New(&simulator.Clock{})
	left, err := scenariofile.ReadObjects(cluster, s.Cluster.Files)
	if err != nil {
		return err
	}
	options, done, err := outputs(f, stdout, stderr)
	if err != nil {
		return err
	}
	began := time.Now()
	report, err := simulator.Play(ctx, s, cluster, options)
	if err := errors.Join(err, done()); err != nil {
		return err
	}
	if f.quiet {
		return nil
	}
	w := stdout
	if f.timeline == "-" {
		w = stderr
	}
	if err := tell(w, report, left); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "played in %s\n", time.Since(began).Round(time.Millisecond))
	return nil
}

func load(file string) (*scenario.Scenario, error) {
	if file == "" {
		return scenariofile.Parse("embedded scenario", defaultScenario)
	}
	return scenariofile.Load(file)
}

// outputs opens the timeline and the progress bar; done closes them.
func outputs(f flags, stdout, stderr io.Writer) (options simulator.Options, done func() error, err error) {
	var closers []func() error
	done = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	if f.timeline != "" {
		buffered, closer, err := create("timeline", f.timeline, stdout)
		if err != nil {
			return options, nil, err
		}
		closers = append(closers, closer)
		var line []byte
		options.Line = func(l scenario.Line) error {
			line = append(l.AppendJSON(line[:0]), '\n')
			_, err := buffered.Write(line)
			return err
		}
	}
	if terminal, ok := stderr.(*os.File); ok && !f.quiet && term.IsTerminal(int(terminal.Fd())) {
		bar := progressbar.NewOptions64(1000, progressbar.OptionSetWriter(stderr), progressbar.OptionSetDescription("simulating"), progressbar.OptionClearOnFinish())
		options.Progress = func(at, until time.Duration) {
			if until > 0 {
				_ = bar.Set64(int64(1000 * float64(at) / float64(until)))
			}
		}
		closers = append(closers, bar.Finish)
	}
	return options, done, nil
}

// create is open for much that is written at a time; closing flushes it.
func create(what, path string, stdout io.Writer) (w *bufio.Writer, closer func() error, err error) {
	file, closeFile, err := open(what, path, stdout)
	if err != nil {
		return nil, nil, err
	}
	w = bufio.NewWriterSize(file, 1<<16)
	return w, func() error { return errors.Join(w.Flush(), closeFile()) }, nil
}

// open opens a file for writing, or stdout for "-".
func open(what, path string, stdout io.Writer) (w io.Writer, closer func() error, err error) {
	if path == "-" {
		return stdout, func() error { return nil }, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	return file, file.Close, nil
}
