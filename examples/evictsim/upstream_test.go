package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/evictsim/outcome"
)

// standIn is a program in place of upstream's. It writes what the script says and leaves its input.
func standIn(t *testing.T, name, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program that stands in is a shell script")
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	return path
}

func TestUpstreamIsAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	report := `{"Report":{"Nodes":180,"Pods":1620,"Until":3000000000000,"Evicted":7,"NotSimulated":{"pods without a node":1}},"Left":{}}`
	program := standIn(t, "oracle", `cp "$5" "`+dir+`/got.yaml"; echo '`+report+`' >"$4"; echo '{"t":1.000,"kind":"evict","node":"n","pod":"p"}'`)
	timeline := filepath.Join(dir, "timeline")
	text, _, err := simulate(t, "--engine", "upstream", "--upstream-program", program, "--set", "until=50m", "--timeline", timeline, "-o", "json")
	require.NoError(t, err)
	var o outcome.Outcome
	require.NoError(t, json.Unmarshal([]byte(text), &o))
	require.Equal(t, "upstream", o.Engine)
	require.InDelta(t, 7, o.Figures["evicted"], 0)
	require.Equal(t, 1, o.Ignored.Unbound)
	got, err := os.ReadFile(filepath.Join(dir, "got.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(got), "until: 50m\n", "it plays what is played here, changes and all")
	lines, err := os.ReadFile(timeline)
	require.NoError(t, err)
	require.Equal(t, `{"t":1.000,"kind":"evict","node":"n","pod":"p"}`+"\n", string(lines))

	text, _, err = simulate(t, "--engine", "both", "--upstream-program", program)
	require.NoError(t, err)
	require.Contains(t, text, "                           EVICTKIT  UPSTREAM\npods evicted                    268         7\n")
	require.Contains(t, text, "unknown: there is no program why beside")
}

// written is a writer that calls the function.
type written func()

func (w written) Write(text []byte) (int, error) {
	w()
	return len(text), nil
}

// TestMachinesAreToldWhy: JSON and CSV have the reasons for the differences. An interruption while they are looked for is one.
func TestMachinesAreToldWhy(t *testing.T) {
	report := `{"Report":{"Nodes":180,"Pods":1620,"Until":3000000000000,"Evicted":7},"Left":{}}`
	program := standIn(t, "oracle", `echo '`+report+`' >"$4"`)
	reason := filepath.Join(filepath.Dir(program), why)
	write := func(script string) { require.NoError(t, os.WriteFile(reason, []byte("#!/bin/sh\n"+script), 0o700)) }
	write(`echo '{"Rules":[{"Row":"no such row","Lines":3}],"Unexplained":2,"First":"line"}'`)
	text, _, err := simulate(t, "--engine", "both", "--upstream-program", program, "-o", "json", "--quiet")
	require.NoError(t, err)
	var both []outcome.Outcome
	require.NoError(t, json.Unmarshal([]byte(text), &both))
	require.Nil(t, both[0].Differences)
	require.NotEmpty(t, both[1].Differences.Apart)
	both[1].Differences.Apart = nil
	require.Equal(t, &outcome.Differences{Rows: []outcome.Row{{Text: "no such row …", Lines: 3}}, Unexplained: 2, First: "line"}, both[1].Differences)
	text, _, err = simulate(t, "--engine", "both", "--upstream-program", program, "-o", "csv", "--quiet")
	require.NoError(t, err)
	require.Contains(t, text, "1,2,upstream,embedded scenario,difference,no such row …,lines,3\n1,2,upstream,embedded scenario,difference,line,unexplained,2\n")
	text, _, err = simulate(t, "--engine", "both", "--upstream-program", program)
	require.NoError(t, err)
	require.Contains(t, text, "\n  3 lines: no such row …\n  2 lines that no row explains; the first is: line\n")

	ctx, interrupt := context.WithCancel(context.Background())
	out := written(interrupt) // the table comes before the question why
	err = run(ctx, []string{"--engine", "both", "--upstream-program", program}, strings.NewReader(""), out, io.Discard)
	require.Equal(t, interruptedCode, exitCode(err), "%v", err)
}

func TestUpstreamThatFailsSaysWhy(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'no such thing' >&2; exit 1":    "no such thing",
		"exit 0":                              "report.json",
		`echo nonsense; echo '{}' >"$4"`:      "",
		`echo '{"Report":{"Nodes":"x"}}' >$4`: "Nodes",
	} {
		_, _, err := simulate(t, "--engine", "upstream", "--upstream-program", standIn(t, "oracle", script), "--timeline", filepath.Join(t.TempDir(), "t"))
		require.ErrorContains(t, err, "engine upstream")
		require.ErrorContains(t, err, want)
	}
}

func TestWhatUpstreamCannotPlayIsAnsweredWithItsLine(t *testing.T) {
	program := standIn(t, "oracle", "echo 'it was started' >&2; exit 1")
	for text, want := range map[string]string{
		"events: [{at: 1m, fail: {zone: A}}]\n":                   "event 1 (at 1m0s): fail: zone",
		"expect: [{figure: evicted, zone: A, atMost: 0}]\n":       "expect 1: zone",
		"config:\n  leaderElection: true\n  nodeEvictionRate: -1": "config: nodeEvictionRate",
	} {
		file := scenarioFile(t, "cluster: {zones: [{name: a, nodes: 3}]}\nuntil: 5m\n"+text)
		_, _, err := simulate(t, "--engine", "upstream", "--upstream-program", program, "--scenario", file)
		require.ErrorContains(t, err, want)
		require.Regexp(t, "^"+regexp.QuoteMeta(file)+":[35]: ", err)
		require.Equal(t, 64, exitCode(err))
	}
}

// TestRowsOfDifferences: what explains a difference is reported by its row in the table.
func TestRowsOfDifferences(t *testing.T) {
	root, ok := checkout()
	require.True(t, ok)
	e := engine{root: root}
	row := e.row("a token goes to a node that is not")
	require.True(t, strings.HasPrefix(row, "a token goes to a node that is not tainted yet ("), row)
	require.Equal(t, "no such row …", e.row("no such row"))
}

// TestAnOutageIsExplained: the comparison of lines leaves out guard and leader election, so what they did has rows of its own,
// whose lines nobody counts.
func TestAnOutageIsExplained(t *testing.T) {
	report := `{"Report":{"Nodes":180,"Pods":1620,"Until":3000000000000},"Left":{}}`
	program := standIn(t, "oracle", `echo '`+report+`' >"$4"`)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(program), why), []byte("#!/bin/sh\necho '{}'"), 0o700))
	down := "events=[{at: 5m, api: {state: down}}, {at: 10m, api: {state: up}}]"
	for set, acted := range map[string][]bool{"config.leaderElection=true": {true, true}, "config.leaderElection=false": {true, false}, "events=[]": {false, false}} {
		text, _, err := simulate(t, "--engine", "both", "--upstream-program", program, "--set", down, "--set", set)
		require.NoError(t, err)
		for i, begins := range []string{guardRow, leaderRow} {
			want := "  in the outage of the API: " + begins
			require.Equal(t, acted[i], strings.Contains(text, want), "%s: %s in %s", set, want, text)
		}
		require.Equal(t, acted[0], strings.Contains(text, "more happens than in the table"), set)
		require.Regexp(t, `\nfirst eviction +- +-\nlast eviction +- +-\nmedian delay +- +-\n`, text, "nobody was evicted")
	}
	text, _, err := simulate(t, "--engine", "both", "--upstream-program", program, "--set", down, "-o", "csv")
	require.NoError(t, err)
	require.Contains(t, text, "outage,true\n")
}

// TestWhatOnlyOursPlaysIsSaidOnce: with both engines, the output names what upstream's engine plays without. The comparison of
// lines is that of a play without it.
func TestWhatOnlyOursPlaysIsSaidOnce(t *testing.T) {
	program := standIn(t, "oracle", `echo '{"Report":{"Nodes":180,"Pods":1620,"Until":3000000000000},"Left":{}}' >"$4"`)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(program), why), []byte("#!/bin/sh\ngrep -q 'useEvictionAPI: false' \"$2\" && echo '{}'"), 0o700))
	text, _, err := simulate(t, "--engine", "both", "--upstream-program", program, "--set", "together=[app]", "--set", "maintenance=1h",
		"--set", "budget.bounds=[{name: a, of: Acting, max: 1}]", "--set", "config.useEvictionAPI=true")
	require.NoError(t, err)
	const names = "useEvictionAPI, budget, maintenance"
	require.Equal(t, 1, strings.Count(text, "\n  upstream's controllers have none of this, and play without it: "+names+", together\n"), text)
	require.Contains(t, text, "\nLine by line, in a play without reschedule, "+names+" and together\n  they do not differ\n")
	text, _, err = simulate(t, "--engine", "both", "--upstream-program", program, "--set", "together=[nobody]")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(text, "\n  warning: "), text)
	text, _, err = simulate(t, "--engine", "both", "--upstream-program", program)
	require.NoError(t, err)
	require.NotContains(t, text, "play without it")
	require.Contains(t, text, "\nLine by line, in a play without reschedule\n")
}
