package differential

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/conformance/rule"
)

var (
	from     = flag.Uint64("from", 1, "the first seed")
	seeds    = flag.Uint64("seeds", 0, "how many seeds to play against each of upstream's controllers; 0: as many as every change must pass")
	one      = flag.String("scenario", "", "a scenario file to play instead")
	only     = flag.String("about", "", "one of Phenomena: TestPhenomena plays only scenarios that are about it")
	against  = flag.String("against", string(V137), "which of upstream's controllers plays it")
	programs = flag.String("oracles", "", "the directory of v137 and v118, where they are built already")
	failures = flag.String("failures", "", "the directory for scenarios that fail, each as it was made and as small as it can be")
)

// oracles are built once, by TestMain.
var oracles Oracles

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "oracles")
	at := cmp.Or(*programs, dir)
	oracles = Oracles{V137: filepath.Join(at, "v137"), V137Together: filepath.Join(at, "v137"), V118: filepath.Join(at, "v118"), V118Direct: filepath.Join(at, "v118")}
	if err == nil && *programs == "" {
		err = errors.Join(build("..", oracles[V137], "./oracle"), build("../v118", oracles[V118], "."))
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(module, to, program string) error {
	out, err := exec.Command("go", "build", "-C", module, "-o", to, program).CombinedOutput()
	if err != nil {
		return fmt.Errorf("building %s of %s: %w\n%s", program, module, err, out)
	}
	return nil
}

func TestAgainstV137(t *testing.T)              { play(t, V137, 200, Generate) }
func TestAgainstV137Together(t *testing.T)      { play(t, V137Together, 100, Generate) }
func TestAgainstV118(t *testing.T)              { play(t, V118, 100, Generate) }
func TestAgainstV118WithoutTaints(t *testing.T) { play(t, V118Direct, 100, Generate) }

// TestPhenomena plays scenarios each of which is about one thing.
func TestPhenomena(t *testing.T) {
	for _, against := range []Against{V137, V118, V118Direct} {
		for _, p := range Phenomena {
			if *only == "" || Phenomenon(*only) == p {
				t.Run(directory(against)+"/"+string(p), func(t *testing.T) {
					play(t, against, 5, func(seed uint64, against Against) *Case { return About(p, seed, against) })
				})
			}
		}
	}
}

// TestScenario plays the scenario that the flag names, and reports what is not explained.
func TestScenario(t *testing.T) {
	if *one == "" {
		t.Skip("no -scenario FILE")
	}
	c, err := Open(*one)
	require.NoError(t, err)
	_, r, err := oracles.Check(t.Context(), c, Against(*against))
	require.NoError(t, err)
	for rule, n := range r.Fired {
		t.Logf("%7d  %s", n, rule.Name)
	}
	for _, l := range r.Unexplained {
		t.Error(l)
	}
}

// play plays n seeds, two at a time, and reports how often each rule fired.
func play(t *testing.T, against Against, n uint64, generate func(uint64, Against) *Case) {
	switch {
	case *seeds > 0:
		n = *seeds
	case testing.Short():
		n = 10
	}
	var (
		mu          sync.Mutex
		fired       = map[Rule]int{}
		lines, left int
		next        atomic.Uint64
		workers     sync.WaitGroup
	)
	for range 2 {
		workers.Go(func() {
			for seed := *from + next.Add(1) - 1; seed < *from+n; seed = *from + next.Add(1) - 1 {
				c := generate(seed, against)
				_, r, err := oracles.Check(t.Context(), c, against)
				if !assert.NoError(t, err, "seed %d", seed) {
					continue
				}
				if len(r.Unexplained) > 0 {
					t.Errorf("seed %d: %d lines that nothing explains, first %s%s", seed, len(r.Unexplained), r.Unexplained[0], keep(t, c, against, seed))
				}
				mu.Lock()
				lines, left = lines+r.Lines, left+len(r.Unexplained)
				for rule, n := range r.Fired {
					fired[rule] += n
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Logf("%s: %d scenarios, %d lines of upstream's, %d lines that nothing explains", against, n, lines, left)
	for _, rule := range slices.SortedFunc(maps.Keys(fired), func(a, b Rule) int { return fired[b] - fired[a] }) {
		t.Logf("%7d  %-16s  %s", fired[rule], rule.Name, rule.Row)
	}
}

// keep writes a failed case to the directory for failures, also in its smallest form.
func keep(t *testing.T, c *Case, against Against, seed uint64) string {
	if *failures == "" {
		return ""
	}
	small := Shrink(c, func(c *Case) bool { return fails(t.Context(), c, against) })
	at := filepath.Join(*failures, directory(against), fmt.Sprint(seed))
	for name, c := range map[string]*Case{"made": c, "small": small} {
		dir := filepath.Join(at, name)
		if !assert.NoError(t, os.MkdirAll(dir, 0o755)) {
			return ""
		}
		_, err := c.Save(dir)
		assert.NoError(t, err)
	}
	return " (in " + at + ")"
}

func fails(ctx context.Context, c *Case, against Against) bool {
	_, r, err := oracles.Check(ctx, c, against)
	return err == nil && len(r.Unexplained) > 0
}

// directory is the name of the directory for scenarios against that version.
func directory(against Against) string { return strings.ReplaceAll(string(against), " ", "-") }

// Scenarios that once showed a fault of ours or of the comparison, each as small as possible.
func TestRegressions(t *testing.T) {
	for against, of := range map[Against]Against{V137: V137, V137Together: V137, V118: V118, V118Direct: V118Direct} {
		paths, err := filepath.Glob(filepath.Join("testdata", directory(of), "*", "scenario.yaml"))
		require.NoError(t, err)
		require.NotEmpty(t, paths, against)
		for _, path := range paths {
			t.Run(directory(against)+"/"+filepath.Base(filepath.Dir(path)), func(t *testing.T) {
				t.Parallel()
				c, err := Open(path)
				require.NoError(t, err)
				_, r, err := oracles.Check(t.Context(), c, against)
				require.NoError(t, err)
				require.Empty(t, r.Unexplained)
			})
		}
	}
}

// Upstream's passes that taint come between those that monitor, as they nearly always do in reality. Where all come at the
// same instants, tokens are spent on nodes that have their taints, often but not in every run.
func TestTokensAreNotWasted(t *testing.T) {
	c := &Case{Scenario: *scenariofile.New()}
	c.Scenario.Cluster.Zones = []simulation.Zone{{Name: "a", Nodes: 400}, {Name: "b", Nodes: 1}}
	c.Scenario.Events = []simulation.Event{{At: seconds(10), Fail: &simulation.Nodes{Zone: "a"}}}
	c.Scenario.Until = seconds(1000)
	p, r, err := oracles.Check(t.Context(), c, V137)
	require.NoError(t, err)
	require.Empty(t, r.Unexplained)
	require.Empty(t, p.Rewrites)
	for _, l := range p.Upstream {
		if served(l, false) {
			require.Equal(t, 50*time.Millisecond, l.T.Truncate(time.Millisecond)%(100*time.Millisecond), l)
		}
	}
}

// Every rule names a row of its own in the table of differences.
func TestRulesNameTheirRows(t *testing.T) {
	require.NoError(t, rule.Check(Rules))
	names := map[string]bool{}
	for _, r := range Rules {
		require.False(t, names[r.Name], r.Name)
		names[r.Name] = true
	}
}

// The comparison notices a changed timeline: a line that is missing, duplicated, late, or about another object.
func TestAChangedTimelineIsNotForgiven(t *testing.T) {
	for _, against := range []Against{V137, V118, V118Direct} {
		c := Generate(1, against)
		c.Nodes, c.Pods = nil, nil
		taints := c.Scenario.Config.TaintBasedEviction
		c.Scenario.Config = scenariofile.New().Config
		c.Scenario.Config.TaintBasedEviction = taints
		c.Scenario.Cluster.Zones = []simulation.Zone{{Name: "a", Nodes: 6, PodsPerNode: 2, TolerationSeconds: of[simulation.TolerationSeconds](30)}}
		c.Scenario.Events = []simulation.Event{{At: seconds(30), Fail: &simulation.Nodes{Names: []string{"a-001", "a-003"}}}}
		c.Scenario.Until = seconds(600)
		p, r, err := oracles.Check(t.Context(), c, against)
		require.NoError(t, err)
		require.Empty(t, r.Unexplained)
		changed := 0
		for i, l := range p.Ours {
			others := [][]timeline.Line{nil, {l, l}, {moved(l)}}
			if l.Node != "" {
				l.Node = "a-005"
				others = append(others, []timeline.Line{l})
			}
			for k, other := range others {
				if other != nil && k == 1 && l.Kind == timeline.KindZone {
					continue // repeating a zone's state changes nothing
				}
				ours := slices.Replace(slices.Clone(p.Ours), i, i+1, other...)
				noticed := false
				for range 3 { // upstream's order within one instant is random; a rule about that may forgive it
					q := *p
					q.Ours = ours
					if noticed = len(Compare(&q).Unexplained)+len(Judge(&q)) > 0; noticed {
						break
					}
					p, _, err = oracles.Check(t.Context(), c, against)
					require.NoError(t, err)
				}
				require.True(t, noticed, "%s: %s: change %d", against, p.Ours[i].AppendJSON(nil), k)
				changed++
			}
		}
		require.Greater(t, changed, 20)
	}
}

func moved(l timeline.Line) timeline.Line {
	l.T += 2e9
	return l
}

// Open returns the case that Save wrote.
func TestACaseIsSavedWhole(t *testing.T) {
	for seed := range uint64(200) {
		for _, against := range []Against{V137, V118Direct} {
			c := Generate(seed, against)
			path, err := c.Save(t.TempDir())
			require.NoError(t, err)
			read, err := Open(path)
			require.NoError(t, err)
			c.Scenario.Cluster.Files = read.Scenario.Cluster.Files
			require.Equal(t, c.Scenario, read.Scenario)
			again, err := read.Save(t.TempDir())
			require.NoError(t, err)
			for _, name := range []string{"scenario.yaml", "objects.json"} {
				first, _ := os.ReadFile(filepath.Join(filepath.Dir(path), name)) // the case may have no objects
				second, _ := os.ReadFile(filepath.Join(filepath.Dir(again), name))
				require.Equal(t, string(first), string(second))
			}
		}
	}
}

// A case shrinks to what makes it fail.
func TestShrink(t *testing.T) {
	c := Generate(3, V137)
	require.Greater(t, len(c.Scenario.Events), 3)
	name := ""
	for _, e := range c.Scenario.Events {
		if e.Fail != nil {
			name = e.Fail.Names[0]
		}
	}
	require.NotEmpty(t, name)
	small := Shrink(c, func(c *Case) bool {
		for _, e := range c.Scenario.Events {
			if e.Fail != nil && slices.Contains(e.Fail.Names, name) {
				return len(c.Scenario.Cluster.Zones) > 0
			}
		}
		return false
	})
	require.Len(t, small.Scenario.Events, 1)
	require.Equal(t, scenariofile.New().Config, small.Scenario.Config)
	require.Len(t, small.Scenario.Cluster.Zones, 1)
	require.Equal(t, 1, small.Scenario.Cluster.Zones[0].Nodes)
	require.Empty(t, small.Nodes)
	require.NotEqual(t, c, small, "the case itself stays")
}

// A trace says which nodes fail and come back, and when.
func TestTruthOfATrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scenario.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "trace.json"), []byte(`{"metadata":{"gap_seconds":60},"data":[2,1,2]}`), 0o600))
	require.NoError(t, os.WriteFile(path, []byte("cluster: {zones: [{name: a, nodes: 4}]}\navailability: [{zone: a, file: trace.json}]\nuntil: 5m\n"), 0o600))
	c, err := Open(path)
	require.NoError(t, err)
	truth := truthOf(c)
	require.Len(t, truth.health, 2)
	for _, name := range []string{"a-002", "a-003"} {
		require.Equal(t, []moment{{at: time.Minute, failing: true, silent: true}, {at: 2 * time.Minute}}, truth.health[name])
	}
}

// each does it for all numbers below n, two at a time.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	workers.Wait()
}
