package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/examples/evictsim/outages"
)

func TestBenchOfNothing(t *testing.T) {
	for want, args := range map[string][]string{
		"--data":                          {"--data", ""},
		`record "lanl-99" does not exist`: {"--data", "x", "--record", "lanl-99"},
		`contains "unheard of"`:           {"--data", "x", "--policy", "unheard of"},
		"--worst -1s is negative":         {"--data", "x", "--worst", "-1s"},
		"has policies of its own":         {"--data", "x", "--learn", "--policy", "defaults"},
		"makes its own scenarios":         {"--data", "x", "--scenario", "y"},
		"record spot: open":               {"--data", t.TempDir(), "--record", "spot"},
		"unexpected argument":             {"--data", "x", "spot"},
	} {
		_, _, err := simulate(t, append([]string{"bench", "--quiet"}, args...)...)
		require.ErrorContains(t, err, want)
	}
}

// Policies have different names, and their settings are valid.
func TestPolicies(t *testing.T) {
	names := map[string]bool{}
	for _, p := range slices.Concat(policies, fixed()[1:], trials(20*time.Minute)) {
		require.False(t, names[p.name], p.name)
		names[p.name] = true
		if p.tune != nil {
			c, o := evictor.DefaultConfig(), evictor.Options{}
			p.tune(&c, &o)
			require.NoError(t, c.Validate())
			require.True(t, o.Policy != nil || o.Domain != nil || o.Gate != nil, p.name)
		}
	}
}

// Six hours of a recorded cluster with every policy: results differ.
func TestBench(t *testing.T) {
	if os.Getenv("EVICTKIT_DATA") == "" {
		t.Skip("EVICTKIT_DATA is not set")
	}
	args := []string{"bench", "--quiet", "--record", "lanl-02", "--worst", "6h"}
	text, _, err := simulate(t, append(args, "-o", "csv")...)
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(policies))
	figures := map[string]map[string]string{}
	for _, row := range rows[1:] {
		of := map[string]string{}
		for i, title := range rows[0] {
			of[title] = row[i]
		}
		figures[of["policy"]] = of
	}
	require.Equal(t, "49", figures["defaults"]["nodes"])
	require.NotEqual(t, figures["defaults"]["evicted"], figures["no brake"]["evicted"])
	require.NotEqual(t, figures["defaults"]["evicted"], figures["tolerations of 30 s"]["evicted"])

	table, _, err := simulate(t, "bench", "--record", "lanl-02", "--worst", "6h", "--policy", "defaults")
	require.NoError(t, err)
	require.Regexp(t, `(?s)lanl-02: 49 nodes, .* pods, 6h\n  POLICY .*\n  defaults  evictkit  `, table)

	// What is kept says the same as the row.
	kept := filepath.Join(t.TempDir(), "kept")
	table, _, err = simulate(t, "bench", "--quiet", "--record", "lanl-02", "--worst", "6h", "--policy", "rate 1", "--keep", kept)
	require.NoError(t, err)
	scenario := filepath.Join(kept, "lanl-02-300", "lanl-02.yaml")
	require.Contains(t, table, "\nHow each row is played\n  lanl-02, rate 1/s, evictkit: evictsim --scenario '"+scenario+"' --set 'config.nodeEvictionRate=1'\n")
	text, _, err = simulate(t, "--quiet", "--scenario", scenario, "--set", "config.nodeEvictionRate=1", "-o", "json")
	require.NoError(t, err)
	var o struct{ Figures map[string]float64 }
	require.NoError(t, json.Unmarshal([]byte(text), &o))
	require.Equal(t, figures["rate 1/s"]["evicted"], strconv.Itoa(int(o.Figures["evicted"])))
	_, _, err = simulate(t, "bench", "--quiet", "--record", "lanl-02", "--keep", kept)
	require.ErrorIs(t, err, os.ErrExist, "nothing is overwritten")

	// Without a terminal it tells what is done, and after an interrupt prints that.
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, told bytes.Buffer
	err = run(ctx, []string{"bench", "--record", "lanl-02", "--worst", "6h"}, nil, &out, writerFunc(func(text []byte) (int, error) {
		if strings.HasPrefix(string(text), "1 of ") {
			interrupt()
		}
		return told.Write(text)
	}))
	require.Equal(t, 130, exitCode(err))
	require.Regexp(t, `^1 of \d+: lanl-02.*, .*, evictkit: [\d,]+ pods evicted\n`, told.String())
	require.Regexp(t, `(?s)lanl-02: 49 nodes, .* pods, 6h\n  POLICY .*  evictkit  `, out.String())
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

// A row has the name of its policy, so no --set replaces what the policy sets.
func TestAPolicyIsWhatItsRowSays(t *testing.T) {
	r := outages.Records()[0]
	m := maker{made: map[string]input{r.Title() + "-300": {}}}
	slow := policy{name: "rate 0.01/s", sets: set("config.nodeEvictionRate", "0.01")}
	jobs, err := m.jobs(t.Context(), []outages.Record{r}, []policy{slow}, []engine{{name: ours}}, set("config.nodeEvictionRate", "1"))
	require.NoError(t, err)
	j := jobs[0]
	j.name, j.text = "test", []byte("cluster: {zones: [{name: a, nodes: 1}]}\nuntil: 1m\n")
	o, err := j.play(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 0.01, o.Played.Config.Nodes.NodeEvictionRate, 0)
}
