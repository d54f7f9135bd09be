package pressure

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/eviction"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	served "github.com/evictkit/evictkit/evictor/nodepressure/summary"
)

// converted encodes a summary as the kubelet serves it and reads it with our package.
func converted(t *testing.T, s *statsapi.Summary, pods []nodepressure.Pod) served.Joined {
	t.Helper()
	body, err := json.Marshal(s)
	require.NoError(t, err)
	var bound []*v1.Pod
	for _, pod := range pods {
		bound = append(bound, pod.Pod)
	}
	joined, err := served.Join(body, bound)
	require.NoError(t, err)
	for signal, sample := range joined.Signals {
		if !sample.Time.IsZero() {
			sample.Time = sample.Time.UTC()
		}
		joined.Signals[signal] = sample
	}
	return joined
}

// TestSummaries: our package reads the summaries of every series as the samples that ours was given.
func TestSummaries(t *testing.T) {
	samples, known := 0, 0
	for seed := range int64(300) {
		for _, step := range newSeries(seed).steps {
			for _, stats := range []nodepressure.Stats{step.stats, step.after} {
				got := converted(t, summary(stats), stats.Pods)
				require.Equal(t, stats.Signals, got.Signals)
				require.Len(t, stats.Pods, len(got.Pods)+len(got.Unmeasured))
				require.Empty(t, got.Unknown)
				wanted := slices.DeleteFunc(slices.Clone(stats.Pods), func(pod nodepressure.Pod) bool { return pod.Usage == nil })
				require.True(t, slices.EqualFunc(wanted, got.Pods, func(a, b nodepressure.Pod) bool { return reflect.DeepEqual(a, b) }))
				known += len(wanted)
				samples += len(got.Signals)
			}
		}
	}
	t.Logf("%d samples, the usage of %d pods", samples, known)
	require.Greater(t, min(samples, known), 10_000)
}

// TestHolesAndHugeAmounts: in single passes, with missing parts of the summary and amounts of every size, the kubelet
// has the conditions that ours finds.
func TestHolesAndHugeAmounts(t *testing.T) {
	under := map[v1.NodeConditionType]int{}
	for seed := range int64(600) {
		s := newSeries(seed)
		s.config.PressureTransitionPeriod = 1 // the kubelet does not understand 0, see NoTransition
		// The kubelet watches container file systems from its second pass.
		s.steps = []step{{failed: true}, {summary: holed(rand.New(rand.NewSource(seed)), summary(s.steps[1].stats))}}
		passes := bubbled(t, s)
		machine, err := nodepressure.New(s.config)
		require.NoError(t, err)
		d := machine.Observe(converted(t, s.steps[1].summary, nil).Stats)
		require.ElementsMatch(t, passes[1].conditions, d.Conditions, "seed %d", seed)
		for _, condition := range d.Conditions {
			under[condition]++
		}
	}
	t.Log(under)
	require.Len(t, under, 3)
}

// holed removes some parts and makes others huge.
func holed(r *rand.Rand, s *statsapi.Summary) *statsapi.Summary {
	s.Pods = nil
	amount := func(n **uint64) {
		switch r.Intn(8) {
		case 0:
			*n = nil
		case 1:
			huge := []uint64{math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64, math.MaxUint64 - 500, 1 << 62}[r.Intn(5)]
			*n = &huge
		}
	}
	for _, m := range []*statsapi.MemoryStats{s.Node.Memory} {
		if m != nil {
			amount(&m.AvailableBytes)
			amount(&m.WorkingSetBytes)
		}
	}
	for _, fs := range []**statsapi.FsStats{&s.Node.Fs, &s.Node.Runtime.ImageFs, &s.Node.Runtime.ContainerFs} {
		if r.Intn(10) == 0 {
			*fs = nil
			continue
		}
		for _, n := range []**uint64{&(*fs).AvailableBytes, &(*fs).CapacityBytes, &(*fs).InodesFree, &(*fs).Inodes} {
			amount(n)
		}
	}
	switch r.Intn(10) {
	case 0:
		s.Node.Runtime = nil
	case 1:
		s.Node.Rlimit = nil
	case 2:
		s.Node.SystemContainers = nil
	}
	return s
}

// TestDefaultThresholds: they are as in the kubelet's sources for each system, of which only one is compiled here.
func TestDefaultThresholds(t *testing.T) {
	require.Equal(t, eviction.DefaultEvictionHard, nodepressure.DefaultEvictionHard(v1.Linux))
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "k8s.io/kubernetes/pkg/kubelet/eviction").Output()
	require.NoError(t, err)
	for on, file := range map[v1.OSName]string{v1.Linux: "defaults_linux.go", v1.Windows: "defaults_windows.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), file), nil, 0)
		require.NoError(t, err)
		found := map[string]string{}
		ast.Inspect(tree, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				found[text(t, pair.Key)] = text(t, pair.Value)
			}
			return true
		})
		require.Equal(t, found, nodepressure.DefaultEvictionHard(on), file)
	}
}

func text(t *testing.T, literal ast.Expr) string {
	t.Helper()
	basic, ok := literal.(*ast.BasicLit)
	require.True(t, ok)
	value, err := strconv.Unquote(basic.Value)
	require.NoError(t, err)
	return value
}
