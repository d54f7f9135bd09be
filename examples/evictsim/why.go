package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// whyWithin limits the time spent on explaining the differences between two engines.
const whyWithin = 2 * time.Minute

// answer is the output of the program why.
type answer struct {
	Rules []struct {
		Row   string
		Lines int
	}
	Unexplained int
	First       string
}

// differences returns the rows of DIFFERENCES.md that explain where the timelines differ. Its only error is the context's.
func (j *job) differences(ctx context.Context) (*outcome.Differences, error) {
	a, err := j.why(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d := &outcome.Differences{Rows: []outcome.Row{}, Unexplained: a.Unexplained, First: a.First}
	if err != nil {
		d.Unknown = err.Error()
	}
	for _, rule := range a.Rules {
		d.Rows = append(d.Rows, outcome.Row{Text: j.engine.row(rule.Row), Lines: rule.Lines})
	}
	return d, nil
}

// tellWhy prints the differences.
func tellWhy(w io.Writer, d *outcome.Differences, alone []string) {
	fmt.Fprintln(w, "\nWhere the timelines differ, and why (DIFFERENCES.md)")
	for _, text := range d.Outage {
		fmt.Fprintf(w, "  in the outage of the API: %s\n", text)
	}
	without, more := append([]string{"reschedule"}, alone...), ""
	if len(d.Outage) > 0 {
		without, more = append(without, "guard", "leader election"), ", in which more happens than in the table"
	}
	fmt.Fprintf(w, "Line by line, in a play without %s%s\n", english.WordSeries(without, "and"), more)
	switch {
	case d.Unknown != "":
		fmt.Fprintf(w, "  unknown: %s\n", d.Unknown)
	case len(d.Rows) == 0 && d.Unexplained == 0:
		fmt.Fprintln(w, "  they do not differ")
	}
	for _, row := range d.Rows {
		fmt.Fprintf(w, "  %s: %s\n", some(row.Lines, "line"), row.Text)
	}
	if d.Unexplained > 0 {
		fmt.Fprintf(w, "  %s that no row explains; the first is: %s\n", some(d.Unexplained, "line"), d.First)
	}
}

// The rows of DIFFERENCES.md about what the comparison of timelines leaves out: it is played without guard and leader election.
const (
	guardRow  = "an evictor that cannot see the cluster"
	leaderRow = "the next leader has watched the nodes"
)

// parts are those of a controller's process that told something in a play.
type parts struct{ guard, election bool }

func (p *parts) line(l timeline.Line) error {
	switch {
	case l.Kind != timeline.KindEvent:
	case strings.Contains(l.More, `"by":"guard"`):
		p.guard = true
	case strings.Contains(l.More, `"by":"leader election"`):
		p.election = true
	}
	return nil
}

// outage returns the rows about them.
func (e *engine) outage(played []parts) (rows []string) {
	acted := func(is func(parts) bool, row string) {
		if slices.ContainsFunc(played, is) {
			rows = append(rows, e.row(row))
		}
	}
	acted(func(p parts) bool { return p.guard }, guardRow)
	acted(func(p parts) bool { return p.election }, leaderRow)
	return rows
}

func (j *job) why(ctx context.Context) (a answer, err error) {
	if j.engine.why == "" {
		return a, errors.New("there is no program " + why + " beside the one that plays upstream (go build -C " + conformance + " ./" + why + ")")
	}
	dir, err := os.MkdirTemp("", "evictsim")
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sets := append(j.sets[:len(j.sets):len(j.sets)], scenariofile.Set{Path: "reschedule", Value: "null"})
	if j.played.AskBudgets { // the program plays the rest of what is ours alone with neither engine
		sets = append(sets, scenariofile.Set{Path: "config.useEvictionAPI", Value: "false"})
	}
	text, err := scenariofile.Resolved(j.name, j.text, j.dir, sets...)
	if err != nil {
		return a, err
	}
	path := filepath.Join(dir, "scenario.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return a, err
	}
	ctx, stop := context.WithTimeout(ctx, whyWithin)
	defer stop()
	command := exec.CommandContext(ctx, j.engine.why, j.engine.program, path)
	command.WaitDelay = time.Second / 2
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	switch {
	case ctx.Err() != nil:
		return a, fmt.Errorf("it took longer than %s", short(whyWithin))
	case err != nil:
		return a, fmt.Errorf("%w: %s", err, lastLines(stderr.Bytes()))
	}
	return a, json.Unmarshal(out, &a)
}

// row returns what differs and why, from the row of DIFFERENCES.md that begins with the text.
func (e *engine) row(begins string) string {
	text, err := os.ReadFile(filepath.Join(e.root, "DIFFERENCES.md"))
	if err != nil || e.root == "" {
		return begins + " …"
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| "+begins+" ") && len(cells) > 1 {
			return strings.TrimPrefix(cells[0], "| ") + " (" + cells[1] + ")"
		}
	}
	return begins + " …"
}
