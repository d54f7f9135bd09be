package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/budgetfile"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// input is the text of a scenario, to be played once or, with changes, several times.
type input struct {
	name string
	path string // empty unless it is a file
	dir  string // of relative paths in it
	text []byte
}

// read reads a scenario: a file, stdin for "-", or the embedded one for "".
func read(ctx context.Context, path string, stdin io.Reader) (input, error) {
	switch path {
	case "":
		return input{name: "embedded scenario", dir: under("."), text: defaultScenario}, nil
	case "-":
		text, err := readAll(ctx, stdin, scenariofile.MaxSize+1)
		if err != nil {
			return input{}, fmt.Errorf("standard input: %w", err)
		}
		return input{name: "standard input", dir: under("."), text: text}, nil
	}
	at := under(path)
	file, err := os.Open(at)
	if err != nil {
		return input{}, err
	}
	defer file.Close()
	text, err := readAll(ctx, file, scenariofile.MaxSize+1)
	if err != nil {
		return input{}, fmt.Errorf("%s: %w", path, err)
	}
	return input{name: path, path: at, dir: directory(at), text: text}, nil
}

func directory(path string) string {
	if i := strings.LastIndexByte(path, os.PathSeparator); i >= 0 {
		return path[:i+1]
	}
	return "."
}

// job is one simulation.
type job struct {
	input
	sets     []scenariofile.Set
	parsed   *scenariofile.Scenario // nil before it is read
	budget   *budgetfile.Budget     // of the scenario; nil for none
	spares   time.Duration          // of the scenario: how long announced maintenance is believed
	engine   engine
	line     func(timeline.Line) error // nil if no timeline is wanted
	decision func(explain.Entry)
	happened func(simulation.Happening)
	spared   func(at time.Duration, node, text string) // which nodes maintenance spares
	started  func(*simulation.World)
	progress func(share float64) // of all that is to be done
	ended    func(*outcome.Outcome)
	played   simulation.Scenario // set once it is played
	points   int                 // number of points in the report's series
	outputs  []string            // files that will be written
	policy   policy              // of a benchmark

	gcPercent int // 0 means 30
}

// share is the part of the progress bar for reading files, if there are any.
const share = 0.3

// complete reads the scenario, once until it is played.
func (j *job) complete() (*scenariofile.Scenario, error) {
	if j.parsed != nil {
		return j.parsed, nil
	}
	s, err := scenariofile.Complete(j.name, j.text, j.dir, j.sets...)
	if err != nil {
		return nil, ofInput(err)
	}
	j.parsed = s
	return s, nil
}

func (j *job) play(ctx context.Context) (*outcome.Outcome, error) {
	s, err := j.complete()
	if err != nil {
		return nil, err
	}
	j.parsed, j.budget, j.spares = nil, s.Budget, s.Maintenance // a sweep has many
	if err := j.keepsInputs(s); err != nil {
		return nil, err
	}
	if j.engine.program != "" {
		return j.playUpstream(ctx, s)
	}
	began := 0.0
	var reading func(int)
	if len(s.Cluster.Files) > 0 {
		began = share
		reading = j.reading(s.Cluster.Files)
	}
	played, left := s.Simulation(ctx, reading)
	empty := ofInput(fmt.Errorf("%s: there are no nodes: set cluster.files or cluster.zones", j.name))
	makes := makesNodes(&played)
	if !makes && len(s.Cluster.Files) == 0 {
		return nil, empty
	}
	// From now on there may be millions of small records that live long and little else, so frequent collections cost
	// little time. Reading produces garbage of thirty times the files' size. A benchmark has only thousands of records.
	debug.SetGCPercent(cmp.Or(j.gcPercent, 30))
	j.played = played
	played.Timeline, played.Happened, played.Points = j.line, j.happened, j.points
	if j.progress != nil {
		played.Progress = func(at time.Duration) { j.progress(began + (1-began)*float64(at)/float64(s.Until)) }
	}
	var misnamed error
	r, err := simulation.Play(ctx, played, j.asking(s, &misnamed))
	switch {
	case misnamed != nil:
		return nil, ofInput(misnamed)
	case simulation.Faults(err) != nil:
		return nil, ofInput(scenariofile.Locate(j.name, j.text, err, j.sets...))
	case err != nil:
		return nil, err
	case r.Nodes == 0 && !makes:
		return nil, empty
	}
	o := outcome.New(j.engine.name, j.name, j.sets, j.played, r, *left, s.Expect)
	o.Settings = append(o.Settings, outcome.Brakes(s)...)
	o.Warnings = append(o.Warnings, s.Warnings()...)
	return o, nil
}

// asking makes the evictor, at first unless the scenario expects something of what is not there.
func (j *job) asking(s *scenariofile.Scenario, misnamed *error) simulation.Start {
	asked := false
	return func(w *simulation.World) (simulation.Controller, error) {
		if !asked { // and not again after a restart
			asked, *misnamed = true, errors.Join(s.Misnamed(j.name, j.text, w, j.sets...), s.Unlabelled(j.name, j.text, w, j.sets...))
		}
		if *misnamed != nil {
			return nil, *misnamed
		}
		return j.evictor(w)
	}
}

// evictor makes the evictor that is simulated.
func (j *job) evictor(w *simulation.World) (simulation.Controller, error) {
	if j.started != nil {
		j.started(w)
		j.started = nil // not again after a restart
	}
	config := w.Config()
	options := evictor.Options{Clock: w.Clock(), Observer: w}
	if j.decision != nil {
		options.Observer = evictor.Observers{explain.Observer(j.decision), w}
	}
	announced := j.announces(w, &options)
	if j.budget != nil {
		made, err := j.budget.New(w.Clock())
		if err != nil {
			return nil, err
		}
		if options, err = j.budget.On(made, config.Nodes, options); err != nil {
			return nil, err
		}
	}
	if j.policy.tune != nil {
		j.policy.tune(&config, &options)
	}
	e, err := evictor.New(config, w.ClientsFor(options), options)
	if err != nil || announced == nil {
		return e, err
	}
	announced.Changed = e.NodeChanged
	return &sparing{e, announced}, nil
}

// makesNodes says whether zones or events make nodes.
func makesNodes(s *simulation.Scenario) bool {
	return slices.ContainsFunc(s.Zones, func(z simulation.Zone) bool { return z.Nodes != 0 }) ||
		slices.ContainsFunc(s.Plan(), func(e simulation.Planned) bool { return e.AddNode != nil })
}

// keepsInputs returns an error if an output would overwrite an input.
func (j *job) keepsInputs(s *scenariofile.Scenario) error {
	inputs := append([]string{j.path}, s.Cluster.Files...)
	for i := range s.Availability {
		inputs = append(inputs, s.Availability[i].File)
	}
	for _, in := range inputs {
		for _, out := range j.outputs {
			if same(in, out) {
				return usage(fmt.Errorf("%s: writing %s would overwrite the input", j.name, out))
			}
		}
	}
	return nil
}

// reading returns a function that reports the progress of reading.
func (j *job) reading(files []string) func(int) {
	if j.progress == nil {
		return nil
	}
	total, done := 1.0, 0.0
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			total += float64(info.Size())
		}
	}
	return func(n int) {
		done += float64(n)
		j.progress(share * min(done/total, 1))
	}
}

// bar is the common progress of several jobs, on a terminal.
type bar struct {
	mu     sync.Mutex
	shares []float64
	bar    *progressbar.ProgressBar
}

// newBar returns nil unless stderr is a terminal.
func newBar(stderr io.Writer, quiet bool, jobs int, text string) *bar {
	terminal, ok := stderr.(*os.File)
	if !ok || quiet || !term.IsTerminal(int(terminal.Fd())) {
		return nil
	}
	return &bar{shares: make([]float64, jobs), bar: progressbar.NewOptions64(1000,
		progressbar.OptionSetWriter(stderr), progressbar.OptionSetDescription(text), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond))}
}

// of returns a function that reports one job's progress, nil without a bar.
func (b *bar) of(i int) func(float64) {
	if b == nil {
		return nil
	}
	return func(share float64) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.shares[i] = share
		sum := 0.0
		for _, s := range b.shares {
			sum += s
		}
		_ = b.bar.Set64(int64(1000 * sum / float64(len(b.shares)))) // a bar that cannot be drawn is not an error
	}
}

// ticks returns a function that counts one of so many equal parts of a single job as done. Several goroutines may call it.
func (b *bar) ticks(parts int) func() {
	tell := b.of(0)
	var done atomic.Int64
	return func() {
		if tell != nil {
			tell(min(float64(done.Add(1))/float64(parts), 1))
		}
	}
}

func (b *bar) finish() {
	if b != nil {
		_ = b.bar.Finish()
	}
}
