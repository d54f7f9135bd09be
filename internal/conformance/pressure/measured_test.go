package pressure

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/opencontainers/cgroups"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/cgroup"
	"github.com/evictkit/evictkit/internal/conformance/rule"
)

// measurement is a node that both measure. The result may differ in these signals, by this rule.
type measurement struct {
	name    string
	meminfo string            // after MemTotal
	cgroup  map[string]string // file: content
	node    func(*cgroup.Node)
	huge    uint64 // kB, in the Node object
	differs []nodepressure.Signal
	rule    Rule
}

// groupFiles returns the files of a cgroup. cAdvisor asks the machine that it runs on how memory.stat calls inactive pages.
func groupFiles(dir string, given map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range given {
		if name == "memory.stat" {
			var anon, file, inactive int
			_, _ = fmt.Sscan(text, &anon, &file, &inactive)
			text = fmt.Sprintf("anon %d\nfile %d\ninactive_file %d\ntotal_inactive_file %d\n", anon, file, inactive, inactive)
		}
		all[filepath.Join(dir, name)] = text
	}
	return all
}

func both(a, b map[string]string) map[string]string {
	maps.Copy(a, b)
	return a
}

const (
	reserved = "HugePages_Total: 2\nHugetlb: 2048 kB\n"
	here     = "" // of the root cgroup
)

// The machine has 4096 kB.
var (
	root = func() map[string]string {
		return groupFiles(here, map[string]string{"memory.stat": "1000000 500000 200000"})
	}
	pods     = func(f map[string]string) map[string]string { return both(root(), groupFiles("kubepods", f)) }
	someDisk = []nodepressure.Signal{nodepressure.ContainerFsAvailable, nodepressure.ContainerFsInodesFree}
)

var measurements = []measurement{
	{name: "Machine", cgroup: root()},
	{name: "MoreInactiveThanUsed", cgroup: groupFiles(here, map[string]string{"memory.stat": "1000 1000 3000"})},
	{name: "HugePages", meminfo: reserved, huge: 2048, cgroup: root()},
	{name: "OnlyHugePagesLeft", meminfo: reserved, huge: 2048, cgroup: groupFiles(here, map[string]string{"memory.stat": "3000000 500000 200000"})},
	{name: "Pods", cgroup: pods(map[string]string{"memory.current": "700000", "memory.max": "3000000", "memory.stat": "0 0 100000"})},
	{name: "PodsBesideHugePages", meminfo: reserved, huge: 2048, cgroup: pods(map[string]string{"memory.current": "700000", "memory.max": "4000000", "memory.stat": "0 0 100000"})},
	{name: "PodsBeyondTheirLimit", cgroup: pods(map[string]string{"memory.current": "700000", "memory.max": "500000", "memory.stat": "0 0 100000"})},
	{name: "PodsWithoutALimit", cgroup: pods(map[string]string{"memory.current": "700000", "memory.max": "max", "memory.stat": "0 0 100000"})},
	{name: "PodsBeyondTheMachine", cgroup: pods(map[string]string{"memory.current": "700000", "memory.max": "9000000", "memory.stat": "0 0 100000"})},
	{
		name: "InACgroup", rule: OwnLimits, differs: []nodepressure.Signal{nodepressure.MemoryAvailable, nodepressure.PIDAvailable},
		cgroup: groupFiles(here, map[string]string{"memory.current": "700000", "memory.max": "1000000", "memory.stat": "0 0 100000", "pids.current": "3", "pids.max": "4"}),
	},
	{name: "HugePagesOfLater", rule: HugePagesNow, differs: []nodepressure.Signal{nodepressure.MemoryAvailable}, meminfo: reserved, cgroup: root()},
	{name: "ImagesApart", cgroup: root(), node: func(n *cgroup.Node) { n.ImageFs, n.ContainerFs = "/dev", "/dev" }},
	{name: "LayersApart", rule: LayersApart, differs: someDisk, cgroup: root(), node: func(n *cgroup.Node) { n.ImageFs = "/dev" }},
	{
		name: "NoInodes", rule: NoInodes, cgroup: root(), node: func(n *cgroup.Node) { n.NodeFs = "/proc" },
		differs: []nodepressure.Signal{nodepressure.NodeFsInodesFree},
	},
}

// files makes the node's files. Process IDs are this machine's.
func (m measurement) files(t *testing.T) cgroup.Node {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"proc/meminfo": "MemTotal: 4096 kB\n" + m.meminfo}
	for name, text := range m.cgroup {
		all[filepath.Join("cgroup", name)] = text
	}
	for name, text := range all {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for _, name := range []string{"sys", "loadavg"} {
		require.NoError(t, os.Symlink(filepath.Join("/proc", name), filepath.Join(dir, "proc", name)))
	}
	n := cgroup.Node{Dir: filepath.Join(dir, "cgroup"), Proc: filepath.Join(dir, "proc"), NodeFs: dir, ImageFs: dir, ContainerFs: dir}
	if m.node != nil {
		m.node(&n)
	}
	return n
}

// compare measures with both, and returns what is the same and what is not.
func (m measurement) compare(t *testing.T, files cgroup.Node) (same, differs []nodepressure.Signal) {
	t.Helper()
	ours, err := files.Signals()
	require.NoError(t, err)
	s, err := measured(klog.NewContext(context.Background(), logr.Discard()), files, m.huge)
	require.NoError(t, err)
	kubelets := converted(t, s, nil).Signals
	for _, signal := range nodepressure.Signals() {
		mine, measures := ours[signal]
		its, known := kubelets[signal]
		its.Time = time.Time{}
		switch {
		case measures != known || mine != its:
			differs = append(differs, signal)
		case known:
			same = append(same, signal)
		}
	}
	return same, differs
}

// TestMeasurements: of the same files and the same machine, the kubelet and package cgroup measure the same, except for
// the rules. Each rule makes a difference.
func TestMeasurements(t *testing.T) {
	cgroups.TestMode = true // its reader accepts files that are not the kernel's
	t.Cleanup(func() { cgroups.TestMode = false })
	compared := map[nodepressure.Signal]int{}
	for _, m := range measurements {
		t.Run(m.name, func(t *testing.T) {
			files := m.files(t)
			var same, differs []nodepressure.Signal
			for range 500 { // other programs of this machine come, go and write meanwhile
				if same, differs = m.compare(t, files); slices.Equal(differs, m.differs) {
					break
				}
			}
			require.Equal(t, m.differs, differs)
			for _, signal := range same {
				compared[signal]++
			}
		})
	}
	t.Log(compared)
	var rules []Rule
	for _, m := range measurements {
		if len(m.differs) > 0 {
			rules = append(rules, m.rule)
		}
	}
	require.NoError(t, rule.Check(rules))
	require.Len(t, compared, len(nodepressure.Signals()), "every signal is measured")
}
