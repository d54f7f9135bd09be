package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// The programs that play upstream's controllers and explain how ours differ are in a module of their own, which imports
// k8s.io/kubernetes.
const (
	conformance = "internal/conformance"
	oracle      = "oracle"
	why         = "why"
)

// find takes the program that the flag names and its neighbour, or builds both from the checkout.
func (f *engineFlags) find(ctx context.Context, stderr io.Writer, quiet bool) (engine, error) {
	root, ok := checkout()
	e := engine{name: upstream, root: root}
	if f.program != "" {
		program, err := filepath.Abs(under(f.program))
		if err != nil {
			return e, err
		}
		if info, err := os.Stat(program); err != nil || info.IsDir() {
			return e, fmt.Errorf("--upstream-program %s is not a program", f.program)
		}
		e.program = program
		if beside := filepath.Join(filepath.Dir(program), why); regular(beside) {
			e.why = beside
		}
		return e, nil
	}
	if !ok {
		return e, errors.New("upstream's controllers need all of k8s.io/kubernetes, so evictsim builds them from a checkout of github.com/evictkit/evictkit: " +
			"run it in one, or build the program there (go build -C internal/conformance ./oracle) and name it with --upstream-program")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	to := filepath.Join(cache, "evictkit", "upstream")
	if !quiet {
		fmt.Fprintf(stderr, "building upstream's controllers in %s (takes minutes the first time)\n", filepath.Join(root, conformance))
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return e, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", to+string(os.PathSeparator), "./"+oracle, "./"+why)
	build.Dir = filepath.Join(root, conformance)
	build.WaitDelay = time.Second / 2
	if out, err := build.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return e, ctx.Err()
		}
		return e, fmt.Errorf("building %s: %w: %s", build.Dir, err, lastLines(out))
	}
	e.program, e.why = filepath.Join(to, oracle), filepath.Join(to, why)
	return e, nil
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// checkout returns the root of the repository that we are in, or that we were built from.
func checkout() (root string, ok bool) {
	var starts []string
	if dir, err := filepath.Abs(under(".")); err == nil {
		starts = append(starts, dir)
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	for _, dir := range starts {
		for {
			text, err := os.ReadFile(filepath.Join(dir, conformance, "go.mod"))
			if err == nil && bytes.HasPrefix(text, []byte("module github.com/evictkit/evictkit/internal/conformance")) {
				return dir, true
			}
			above := filepath.Dir(dir)
			if above == dir {
				break
			}
			dir = above
		}
	}
	return "", false
}

func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// told is what the program writes beside the timeline.
type told struct {
	Report simulation.Report
	Left   scenariofile.Left
}

// playUpstream plays with upstream's controllers.
func (j *job) playUpstream(ctx context.Context, s *scenariofile.Scenario) (o *outcome.Outcome, err error) {
	if err := j.checked(ctx, s); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "evictsim")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	text, err := scenariofile.Resolved(j.name, j.text, j.dir, j.sets...)
	if err != nil {
		return nil, err
	}
	path, report := filepath.Join(dir, "scenario.yaml"), filepath.Join(dir, "report.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, j.engine.program, "-points", strconv.Itoa(j.points), "-report", report, path)
	command.WaitDelay = time.Second / 2
	var stderr bytes.Buffer
	command.Stderr = &stderr
	lines, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("engine upstream: %w", err)
	}
	lineErr := j.lines(lines)
	if err := command.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("engine upstream: %w: %s", err, strings.ReplaceAll(lastLines(stderr.Bytes()), path, j.name))
	}
	if lineErr != nil {
		return nil, lineErr
	}
	data, err := os.ReadFile(report)
	if err != nil {
		return nil, fmt.Errorf("engine upstream: %w", err)
	}
	var t told
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("engine upstream: %w", err)
	}
	j.played, _ = s.Simulation(ctx, nil)
	return outcome.New(j.engine.name, j.name, j.sets, j.played, &t.Report, t.Left, s.Expect), nil
}

// checked returns the faults that can be told before the scenario is played, with their lines. The program reads another text,
// whose lines are others.
func (j *job) checked(ctx context.Context, s *scenariofile.Scenario) error {
	sound := errors.New("the scenario is sound")
	var misnamed error
	played, _ := s.Simulation(ctx, nil)
	_, err := simulation.Play(ctx, played, func(w *simulation.World) (simulation.Controller, error) {
		misnamed = s.Misnamed(j.name, j.text, w, j.sets...)
		return nil, sound
	})
	if errors.Is(err, sound) {
		return ofInput(misnamed)
	}
	return ofInput(scenariofile.Locate(j.name, j.text, err, j.sets...))
}

// lines passes on the timeline.
func (j *job) lines(r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<16)
	var failed error
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return failed // the end; the program's exit code says whether it came too early
		}
		if j.line == nil || failed != nil {
			continue
		}
		l, err := timeline.Parse(text)
		if err != nil {
			failed = fmt.Errorf("engine upstream: %w", err)
			continue
		}
		failed = j.line(l)
	}
}

// engineTable are the figures that are printed for two engines.
var engineTable = []struct{ title, figure string }{
	{"pods evicted", "evicted"},
	{"not evicted", "notEvicted"},
	{"first eviction", "firstEvictionSeconds"},
	{"last eviction", "lastEvictionSeconds"},
	{"median delay", "evictionDelayMedianSeconds"},
	{"needless evictions", "needlessEvictions"},
	{"lost evictions", "lostEvictions"},
	{"pod-hours lost", "podHoursLost"},
	{"nodes tainted", "taintedNodes"},
	{"pods without endpoints", "podsWithoutEndpoints"},
	{"longest without endpoints", "longestWithoutEndpointsSeconds"},
	{"most Pending", "mostPending"},
	{"most stuck terminating", "mostTerminating"},
	{"workloads below half", "workloadsBelowHalf"},
	{"longest below half", "longestBelowHalfSeconds"},
	{"budgets not kept", "budgetsBroken"},
}

// bothEngines plays one scenario with each engine, and prints them side by side.
func (f *flags) bothEngines(ctx context.Context, in input, sets []scenariofile.Set, engines []engine, stdout, stderr io.Writer) error {
	began := time.Now()
	var jobs []*job
	seen, with := make([]parts, len(engines)), &apart{}
	for i, e := range engines {
		jobs = append(jobs, &job{input: in, sets: sets, engine: e, line: func(l timeline.Line) error {
			with.line(i, &l)
			return seen[i].line(l)
		}})
	}
	jobs[0].started = func(w *simulation.World) { with.owners = ownersIn(w) }
	outcomes, err := f.playReported(ctx, jobs, stderr)
	if err != nil {
		return err
	}
	last := outcomes[len(outcomes)-1]
	alone, apart := jobs[0].alone(), with.differences([2]*simulation.Report{outcomes[0].Report, last.Report})
	if f.output == "text" && !f.quiet {
		tellEngines(stdout, outcomes, alone)
		tellApart(stdout, apart) // the answer to why may take minutes
	}
	if f.output != "text" || !f.quiet {
		if last.Differences, err = jobs[len(jobs)-1].differences(ctx); err != nil {
			return err
		}
		last.Differences.Outage = jobs[len(jobs)-1].engine.outage(seen)
		last.Differences.Apart = apart
	}
	switch {
	case f.output == "json":
		err = outcome.WriteJSON(stdout, outcomes)
	case f.output == "csv":
		err = outcome.WriteCSV(stdout, outcomes)
	case !f.quiet:
		tellWhy(stdout, last.Differences, alone)
	}
	if !f.quiet {
		fmt.Fprintf(stderr, "played in %s\n", time.Since(began).Round(time.Millisecond))
	}
	for _, o := range outcomes {
		for _, breach := range o.Breaches {
			fmt.Fprintf(stderr, "%s: %s\n", o.Engine, breach)
			err = errors.Join(err, errUnexpected)
		}
	}
	return err
}

// alone names what of the scenario only our engine plays.
func (j *job) alone() (settings []string) {
	for _, of := range []struct {
		name string
		set  bool
	}{{"useEvictionAPI", j.played.AskBudgets}, {"budget", j.budget != nil}, {"maintenance", j.spares > 0}, {"together", len(j.played.Together) > 0}} {
		if of.set {
			settings = append(settings, of.name)
		}
	}
	return settings
}

func tellEngines(w io.Writer, outcomes []*outcome.Outcome, alone []string) {
	r := outcomes[0].Report
	fmt.Fprintf(w, "%s and %s, %s of virtual time\n", some(r.Nodes, "node"), some(r.Pods, "pod"), short(r.Until))
	tellSettings(w, &outcomes[0].Played)
	tellBrakes(w, outcomes[0])
	if len(alone) > 0 {
		fmt.Fprintf(w, "  upstream's controllers have none of this, and play without it: %s\n", strings.Join(alone, ", "))
	}
	tellIgnored(w, &outcomes[0].Ignored)
	var warnings []string
	for _, o := range outcomes {
		for _, warning := range o.Warnings {
			if !slices.Contains(warnings, warning) {
				warnings = append(warnings, warning)
			}
		}
	}
	tellWarnings(w, warnings)
	fmt.Fprintln(w)
	titles := []string{""}
	for _, o := range outcomes {
		titles = append(titles, ">"+strings.ToUpper(o.Engine))
	}
	table := columns{titles: titles}
	for _, row := range engineTable {
		cells := []string{row.title}
		for _, o := range outcomes {
			cells = append(cells, comparedFigure(row).text(o))
		}
		table.add(cells...)
	}
	table.write(w, "")
}
