package suites

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/evictkit/evictkit/internal/conformance/controlplane"
)

// TestEndToEnd plays upstream's end-to-end tests of NoExecute taints on evictord, and those of evictions on clientgo's writer.
func TestEndToEnd(t *testing.T) {
	full(t)
	t.Parallel()
	m := made{}
	m.take(t, theirs+"test/e2e/node", "node", strings.NewReplacer(), "taints.go", "framework.go")
	m.take(t, theirs+"test/e2e/apps", "apps", strings.NewReplacer(
		"import (\n", "import (\n\""+ours+"suites/stack\"\n",
		"cs.CoreV1().Pods(ns).EvictV1(ctx, e)", "stack.EvictPatiently(ctx, cs, e)",
	), "disruption.go")
	m.take(t, theirs+"test/e2e/apps", "apps", strings.NewReplacer(), "replica_set.go", "types.go", "framework.go") // it uses them
	m.read(t, "testdata/e2e.go", "e2e/suite_test.go", strings.NewReplacer())
	program, output, err := m.build(t, "e2e")
	require.NoError(t, err, "%s", output)
	const taints, evictions = "NoExecuteTaintManager", "DisruptionController evictions: |block an eviction until"
	for name, how := range map[string]struct {
		focus string
		flags [][]string // of each evictord
	}{
		"whole":        {taints + "|" + evictions, [][]string{nil}},
		"halves":       {taints, [][]string{{"--half=lifecycle"}, {"--half=taint-eviction"}}},
		"eviction API": {taints, [][]string{{"--use-eviction-api"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubeconfig := cluster(t, how.flags)
			report := filepath.Join(t.TempDir(), "report.json")
			run := exec.Command(program, "-test.timeout=20m", "-kubeconfig="+kubeconfig, "-provider=skeleton",
				"-ginkgo.v", "-ginkgo.no-color", "-ginkgo.json-report="+report, "-ginkgo.focus="+how.focus)
			run.Dir = t.TempDir()
			out, _ := run.CombinedOutput() // the report tells
			found, others := reported(t, report, out)
			judge(t, "end to end, "+name, found, string(out))
			if name == "whole" {
				require.Equal(t, listed(t, "end to end, "+name, "left out"), others)
			}
		})
	}
}

// reported returns the results of the tests that were played, and those of evictions that were not, in order.
func reported(t *testing.T, report string, out []byte) (found results, others []string) {
	t.Helper()
	var suites []struct {
		SpecReports []struct{ LeafNodeText, LeafNodeType, State string }
	}
	text, err := os.ReadFile(report)
	require.NoError(t, err, "%s", out)
	require.NoError(t, json.Unmarshal(text, &suites))
	found = results{}
	for _, suite := range suites {
		for _, test := range suite.SpecReports {
			switch name := test.LeafNodeText; {
			case test.LeafNodeType != "It":
			case test.State == "passed":
				found[name] = "PASS"
			case test.State != "skipped":
				found[name] = "FAIL"
			case strings.Contains(name, "evict"):
				others = append(others, name)
			}
		}
	}
	slices.Sort(others)
	return found, others
}

// cluster starts a control plane with evictord, in one process or several, and three nodes. It returns an administrator's kubeconfig.
func cluster(t *testing.T, evictord [][]string) (kubeconfig string) {
	t.Helper()
	ctx := t.Context()
	plane, err := controlplane.StartPlane(ctx, os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = plane.Stop() })
	kubeconfig, err = plane.Kubeconfig("tests", "system:masters")
	require.NoError(t, err)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(ca, plane.Config.CAData, 0o600))
	start := func(name, program string, flags ...string) {
		p, err := plane.StartProcess(name, program, append([]string{"--kubeconfig=" + kubeconfig, "--leader-elect=false"}, flags...)...)
		require.NoError(t, err)
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(name, p.Log())
			}
			p.Kill()
		})
	}
	start("kube-controller-manager", plane.Programs.ControllerManager, "--secure-port=0", "--root-ca-file="+ca,
		"--controllers=*,-node-lifecycle-controller,-taint-eviction-controller")
	start("kube-scheduler", plane.Programs.Scheduler, "--secure-port=0")
	program, err := plane.BuildExample(ctx, "evictord")
	require.NoError(t, err)
	for _, flags := range evictord {
		start("evictord"+strings.Join(flags, ""), program, append([]string{"--metrics-address=", "--debug-address="}, flags...)...)
	}
	client, err := kubernetes.NewForConfig(plane.Config)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Namespaces().Get(ctx, v1.NamespaceNodeLease, metav1.GetOptions{})
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	view, err := controlplane.WatchCluster(ctx, client, metav1.NamespaceAll)
	require.NoError(t, err)
	fleet, err := controlplane.StartFleet(ctx, client, view, controlplane.FleetConfig{
		Zones: 3, NodesPerZone: 1, Renewal: 5 * time.Second, Report: 30 * time.Second,
	})
	require.NoError(t, err)
	const can = `{"cpu":"8","memory":"32Gi","pods":"110","ephemeral-storage":"100Gi"}`
	for _, node := range fleet.Nodes() {
		_, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType,
			[]byte(`{"status":{"capacity":`+can+`,"allocatable":`+can+`,"addresses":[{"type":"InternalIP","address":"10.1.0.1"}]}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
	return kubeconfig
}
