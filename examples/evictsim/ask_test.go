package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/evictsim/outcome"
)

func TestOutputForMachines(t *testing.T) {
	text, _, err := simulate(t, "-o", "json", "--quiet")
	require.NoError(t, err)
	var o outcome.Outcome
	require.NoError(t, json.Unmarshal([]byte(text), &o))
	require.Equal(t, outcome.Version, o.Version)
	require.Equal(t, "evictkit", o.Engine)
	require.Contains(t, o.Settings, outcome.Field{Name: "nodeMonitorGracePeriod", Value: "50s"})
	require.InDelta(t, 268, o.Figures["evicted"], 0)
	require.Len(t, o.Zones, 3)
	require.Len(t, o.Workloads, 3)
	require.Len(t, o.Changes, 7)
	require.NotContains(t, text, "null", "lists that are empty are lists")

	text, _, err = simulate(t, "-o", "csv", "--quiet", "--set", "config.nodeEvictionRate=1")
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"version", "run", "engine", "scenario", "of", "name", "figure", "value"}, rows[0])
	require.Contains(t, rows, []string{"1", "1", "evictkit", "embedded scenario", "set", "", "config.nodeEvictionRate", "1"})
	require.Contains(t, rows, []string{"1", "1", "evictkit", "embedded scenario", "setting", "", "nodeEvictionRate", "1"})
	require.Contains(t, rows, []string{"1", "1", "evictkit", "embedded scenario", "zone", "r1:a", "nodes", "60"})

	// CSV has whatever JSON has.
	scenario := scenarioFile(t, `cluster: {zones: [{name: a, nodes: 20, podsPerNode: 1, capacity: {cpu: 1}, pod: {requests: {cpu: 1}}}]}
events:
- {at: 1m, fail: {zone: a, count: 18}}
- {at: 20m, fail: {node: a-019}}
- {at: 2h, restart: {}}
reschedule: {after: 10s}
until: 1h
config: {largeClusterSizeThreshold: 10}
expect: [{figure: evicted, atMost: 0}]
`)
	text, _, err = simulate(t, "--scenario", scenario, "-o", "csv", "--quiet")
	require.Equal(t, 2, exitCode(err))
	of := map[string]int{}
	for _, line := range strings.Split(text, "\n")[1:] {
		if cells := strings.Split(line, ","); len(cells) > 4 {
			of[cells[4]]++
		}
	}
	for _, of1 := range []string{"setting", "ignored", "cluster", "zone", "workload", "limit", "change", "left", "unplaced", "breach"} {
		require.Positive(t, of[of1], of1)
	}
	require.Contains(t, text, ",ignored,,eventAfterEnd,3\n")
	require.Contains(t, text, ",limit,:a,1.state,PartialDisruption\n")
	require.Contains(t, text, ",breach,,,\"expect 1: ")
}

func TestSweep(t *testing.T) {
	table, _, err := simulate(t, "sweep", "--set", "config.unhealthyZoneThreshold=.55,.67", "--set", "config.nodeEvictionRate=0.1,1")
	require.NoError(t, err)
	lines := strings.Split(table, "\n")
	require.Equal(t, []string{"unhealthyZoneThreshold", "nodeEvictionRate", "EVICTED"}, strings.Fields(lines[0])[:3])
	require.Equal(t, []string{".55", "0.1", "268"}, strings.Fields(lines[1])[:3])
	require.Equal(t, []string{".55", "1", "612"}, strings.Fields(lines[2])[:3])
	require.Len(t, lines, 6)

	text, _, err := simulate(t, "sweep", "--set", "config.unhealthyZoneThreshold=.55,.67", "-o", "csv")
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, []string{"version", "scenario", "engine", "config.unhealthyZoneThreshold", "nodeMonitorPeriod"}, rows[0][:5])

	_, _, err = simulate(t, "sweep", "--set", "config.unheardOf=1,2")
	require.ErrorContains(t, err, `unknown field "unheardOf"`)
	_, _, err = simulate(t, "sweep", "--set", "nothing")
	require.Equal(t, 64, exitCode(err))
}

func TestCompare(t *testing.T) {
	one := scenarioFile(t, "config: {nodeMonitorGracePeriod: 40s}\ncluster: {zones: [{name: a, nodes: 3, podsPerNode: 2}]}\nevents:\n- {at: 1m, fail: {node: a-000}}\nuntil: 20m\n")
	two := scenarioFile(t, "cluster: {zones: [{name: a, nodes: 3, podsPerNode: 2}]}\nevents:\n- {at: 1m, fail: {zone: a, count: 1}}\nuntil: 20m\n")
	table, _, err := simulate(t, "compare", one, two)
	require.NoError(t, err)
	lines := strings.Split(table, "\n")
	require.Equal(t, []string{"scenario", "nodeMonitorGracePeriod", "EVICTED", "FIRST"}, strings.Fields(lines[0])[:4])
	require.Equal(t, []string{one, "40s", "2", "6m35s"}, strings.Fields(lines[1])[:4])
	require.Equal(t, []string{two, "50s", "2", "6m45s"}, strings.Fields(lines[2])[:4])
	_, _, err = simulate(t, "compare", one)
	require.Equal(t, 64, exitCode(err))
	_, _, err = simulate(t, "compare", one, "")
	require.Equal(t, 64, exitCode(err))
	_, _, err = simulate(t, "compare", "-", one, "-")
	require.Equal(t, 64, exitCode(err))
	require.ErrorContains(t, err, "only one scenario can be -")
}

// TestEmptyNamesAreNoScenario: a variable that is not set must not play the embedded scenario instead.
func TestEmptyNamesAreNoScenario(t *testing.T) {
	for _, args := range [][]string{{"--scenario", ""}, {"explain", "--pod", "a-000-p0", "--scenario="}, {"sweep", "--scenario=", "--set", "until=1m"}} {
		_, _, err := simulate(t, args...)
		require.Equal(t, 64, exitCode(err), "%q", args)
		require.ErrorContains(t, err, "--scenario is empty")
	}
}

// What the user got wrong is 64, and says what is meant; what the world denies is 1.
func TestFaultsOfTheUser(t *testing.T) {
	for want, args := range map[string][]string{
		`unexpected argument "sweeep": do you mean sweep?`: {"sweeep"},
		`unexpected argument "now"`:                        {"now"},
		"sweep needs settings to try":                      {"sweep"},
		"there are no nodes: set cluster.files or":         {"--scenario", scenarioFile(t, "until: 1h\n")},
		`:1: unknown field "confg" (do you mean config?)`:  {"--scenario", scenarioFile(t, "confg: {}\n")},
		`event 1 (at 1m0s): fail: zone "b" does not exist`: {"--scenario", scenarioFile(t, "cluster: {zones: [{name: a, nodes: 1}]}\nevents: [{at: 1m, fail: {zone: b}}]\nuntil: 1h\n")},
		"holds no object":                                  {"--scenario", scenarioFile(t, "cluster: {files: ["+scenarioFile(t, "")+"]}\nuntil: 1h\n")},
	} {
		_, _, err := simulate(t, args...)
		require.Equal(t, 64, exitCode(err), want)
		require.ErrorContains(t, err, want)
	}
	for _, args := range [][]string{{"--scenario", "nowhere.yaml"}, {"--scenario", scenarioFile(t, "cluster: {files: [nowhere.yaml]}\nuntil: 1h\n")}} {
		_, _, err := simulate(t, args...)
		require.Equal(t, 1, exitCode(err), args)
	}
}

func TestExpectationsAreAnExitCode(t *testing.T) {
	text := "cluster: {zones: [{name: a, nodes: 3, podsPerNode: 2}]}\nevents:\n- {at: 1m, fail: {node: a-000}}\nuntil: 20m\nexpect:\n- {figure: evicted, atMost: 2}\n"
	_, _, err := simulate(t, "--scenario", scenarioFile(t, text))
	require.NoError(t, err)
	for _, args := range [][]string{nil, {"--quiet"}} {
		out, _, err := simulate(t, append(args, "--scenario", scenarioFile(t, text+"- {figure: lastEvictionSeconds, zone: ':a', atMost: 5m}\n"))...)
		require.Equal(t, 2, exitCode(err))
		require.Contains(t, out, "expect 2: lastEvictionSeconds of zone :a is 405, more than 300\n")
	}
	_, _, err = simulate(t, "--scenario", scenarioFile(t, text+"- {figure: evictions, atMost: 0}\n"))
	require.Equal(t, 64, exitCode(err))
	require.ErrorContains(t, err, `expect 2: figure: "evictions" is not one of`)
}

func TestScenarioFromStandardInput(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader("cluster: {zones: [{name: a, nodes: 3}]}\nuntil: 1m\n")
	require.NoError(t, run(context.Background(), []string{"--scenario", "-"}, in, &out, io.Discard))
	require.Contains(t, out.String(), "3 nodes")
}

// TestPathsAreThoseOfTheUser: the program runs where `go run -C` put it, and the user is elsewhere.
func TestPathsAreThoseOfTheUser(t *testing.T) {
	require.Equal(t, "file", under("file"), "a program that was built is where the user is, whatever PWD says")
	require.Equal(t, "/abs", under("/abs"))
	t.Setenv("PWD", "/home/user")
	require.Equal(t, "/home/user/file", from("/tmp/go-build1/b001/exe/evictsim", "file"))
	require.Equal(t, "file", from("/usr/bin/evictsim", "file"))
}

// TestInterrupted: an interrupt in the middle leaves no new file, and an existing file as it was.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	timeline := filepath.Join(dir, "timeline")
	require.NoError(t, os.WriteFile(timeline, []byte("before\n"), 0o600))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	err := run(ctx, []string{"--timeline", timeline}, strings.NewReader(""), io.Discard, io.Discard)
	require.Equal(t, 130, exitCode(err))
	require.Equal(t, "interrupted", complaint(err))
	text, err := os.ReadFile(timeline)
	require.NoError(t, err)
	require.Equal(t, "before\n", string(text))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing temporary is left")

	ctx, stop = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	began := time.Now()
	reader, writer := io.Pipe() // nothing ever comes
	defer writer.Close()
	require.Error(t, run(ctx, []string{"--scenario", "-"}, reader, io.Discard, io.Discard))
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestTimelineOverItsScenario(t *testing.T) {
	file := scenarioFile(t, "cluster: {zones: [{name: a, nodes: 3}]}\nuntil: 1m\n")
	_, _, err := simulate(t, "--scenario", file, "--timeline", file)
	require.Equal(t, 64, exitCode(err))
	require.ErrorContains(t, err, "would overwrite")
}

// No command writes over what it reads, nor plays for hours if it cannot write.
func TestOutputsSpareWhatIsPlayed(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a.yaml":       "cluster: {files: [objects.yaml], zones: [{name: a, nodes: 3}]}\navailability: [{zone: a, file: trace.json}]\nuntil: 1m\n",
		"objects.yaml": "{apiVersion: v1, kind: Node, metadata: {name: n}}\n",
		"trace.json":   `{"metadata": {"gap_seconds": 600}, "data": [3]}`,
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	scenario := filepath.Join(dir, "a.yaml")
	for name := range files {
		file := filepath.Join(dir, name)
		page := file + ".html"
		require.NoError(t, os.Symlink(file, page))
		for _, args := range [][]string{
			{"--scenario", scenario, "--report", page}, {"--scenario", scenario, "--timeline", file},
			{"sweep", "--set", "until=1m", "--scenario", scenario, "--report", page}, {"compare", scenario, scenario, "--report", page},
		} {
			_, _, err := simulate(t, args...)
			require.Equal(t, 64, exitCode(err), "%v: %v", args, err)
			require.ErrorContains(t, err, "would overwrite")
		}
	}
	for _, args := range [][]string{{"sweep", "--set", "until=1m", "--report", "-"}, {"compare", scenario, scenario, "--report", "-"}} {
		_, _, err := simulate(t, args...)
		require.Equal(t, 64, exitCode(err), "%v: %v", args, err)
	}
	_, _, err := simulate(t, "--report", filepath.Join(dir, "nowhere", "out.html"))
	require.ErrorContains(t, err, "report: ")
	for name, text := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2*len(files))
}

func TestNumbersAsPeopleReadThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 5 * time.Minute: "5m", 90 * time.Second: "1m30s", 2 * time.Hour: "2h", 2*time.Hour + time.Second: "2h0m1s",
		12*time.Hour + 5*time.Minute: "12h5m", 1675*time.Hour/10 + 0: "7.0 days", 48 * time.Hour: "2.0 days",
	} {
		require.Equal(t, want, short(d))
	}
	require.Equal(t, "67 %", percent(2, 3))
	require.Equal(t, "1 node", some(1, "node"))
	require.Equal(t, "1,000 nodes", some(1000, "node"))
	require.Equal(t, "(no zone)", zoneName(":"))
	require.Equal(t, "a", zoneName(":a"))
	require.Equal(t, "100 nodes/s", pace(100))
	require.Equal(t, "one node every 10s", pace(0.1))
}

func TestEnginesThatAreNotThere(t *testing.T) {
	_, _, err := simulate(t, "--engine", "other")
	require.Equal(t, 64, exitCode(err))
	_, _, err = simulate(t, "--engine", "upstream", "--upstream-program", filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "is not a program")
}

// Who is Pending at the end says why, on the screen and in the JSON.
func TestThePendingSayWhy(t *testing.T) {
	text := "cluster:\n  zones:\n  - {name: a, nodes: 3, podsPerNode: 1, pod: {nodeSelector: {pool: none}}}\n"
	for i := range mostUnplaced {
		text += fmt.Sprintf("  - {name: b%d, nodes: 1, podsPerNode: %d, capacity: {pods: \"4\"}, pod: {requests: {cpu: %d}, nodeSelector: {pool: b%d}}, taints: [{key: mine, effect: NoSchedule}]}\n", i, 4-i, 1+i, i)
	}
	text += "events: [{at: 1m, drain: {nodes: [a-000, b0-000, b1-000, b2-000]}}]\nreschedule: {after: 5s}\nuntil: 10m\n"
	file := scenarioFile(t, text)
	story, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	require.Contains(t, story, `
10 Pending at the end, 10 at the peak
  4 like default/b0-000-p0: 0/6 nodes: 4 cordoned, 2 selector
  3 like default/b1-000-p0: 0/6 nodes: 4 cordoned, 2 selector
  2 like default/b2-000-p0: 0/6 nodes: 4 cordoned, 2 selector
  … and 1 with other requirements
`)
	out, _, err := simulate(t, "--scenario", file, "-o", "json", "--quiet")
	require.NoError(t, err)
	var o outcome.Outcome
	require.NoError(t, json.Unmarshal([]byte(out), &o))
	require.Len(t, o.Unplaced, 4)
	require.Equal(t, outcome.Unplaced{
		Pods: 4, First: "default/b0-000-p0", Nodes: 6, Because: map[string]int{"cordoned": 4, "selector": 2}, Text: "0/6 nodes: 4 cordoned, 2 selector",
	}, o.Unplaced[0])

	out, _, err = simulate(t, "--scenario", scenarioFile(t, "cluster: {zones: [{name: a, nodes: 1}]}\nuntil: 1m\n"), "-o", "json", "--quiet")
	require.NoError(t, err)
	require.Contains(t, out, `"unplaced": []`, "a list, also where it is empty")
}
