package suites

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/conformance/controlplane/binaries"
	"github.com/evictkit/evictkit/internal/conformance/suites/stack"
)

// TestIntegration plays upstream's integration tests of its two controllers on our ports and on the evictor with clientgo, and
// those of evictions on clientgo's writer. Each starts an API server of its own, on one etcd.
func TestIntegration(t *testing.T) {
	full(t)
	t.Parallel()
	program, output, err := integration(t).build(t, "integration")
	require.NoError(t, err, "%s", output)
	programs, err := binaries.Find(t.Context(), os.Stderr)
	require.NoError(t, err)
	env := []string{
		"PATH=" + filepath.Dir(programs.Etcd) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"KUBE_INTEGRATION_ETCD_URL=http://127.0.0.1:1", // where none is, so that it starts one
	}
	const controllers = "^(TestEvictionForNoExecuteTaintAddedByUser|TestTaintBasedEvictions|TestTaintNodeByCondition)$"
	for side, tests := range map[string]string{
		"ports": "-test.run=" + controllers, "stack": "-test.run=" + controllers, "evictions": "-test.skip=" + controllers,
	} {
		suite := "integration, " + side
		env := append(slices.Clone(env), "EVICTKIT_SUITES_SIDE="+side)
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			changes := changesOf(t, suite)
			all := append(slices.Clone(env), changing(changes, ""))
			found, out := play(t, program, all, tests)
			if late := found.unlisted(t, suite); len(late) > 0 { // each waits in real time, and this machine may have been busy
				t.Log("once more, alone:", late)
				again, more := play(t, program, all, "-test.run="+only(late))
				maps.Copy(found, again)
				out += more
			}
			judge(t, suite, found, out)
			for _, one := range changes {
				t.Run("without "+one.change(), func(t *testing.T) {
					found, out := play(t, program, append(env, changing(changes, one.change())), "-test.run="+only(one.tests))
					for _, test := range one.tests {
						require.NotEmpty(t, found.below(test).with("FAIL"), "%s does not fail without this change\n%s", test, out)
					}
				})
			}
		})
	}
}

// changing is the environment variable with all changes but one.
func changing(changes []exception, without string) string {
	var names []string
	for _, one := range changes {
		if one.change() != without {
			names = append(names, one.change())
		}
	}
	return stack.Changes + "=" + strings.Join(names, ",")
}

// integration makes one package of all tests, which takes one program.
func integration(t *testing.T) made {
	t.Helper()
	m := made{}
	const here, of = `"` + ours + `suites/stack"`, theirs + "test/integration/"
	ends := " " + here
	change := strings.NewReplacer(
		`"`+theirs+`pkg/controller/nodelifecycle"`, "nodelifecycle"+ends, `"`+theirs+`pkg/controller/tainteviction"`, "tainteviction"+ends,
		"package node\n", "package integration\n", "package taint\n", "package integration\n", "newPod(", "newTaintPod(",
	)
	m.take(t, of+"node", "integration", change, "*_test.go")
	m.take(t, of+"scheduler/taint", "integration", change, "taint_test.go")
	const once = "policyV1NoRetriesClient"
	m.take(t, of+"evictions", "integration", strings.NewReplacer(
		"package evictions\n", "package integration\n", "import (\n", "import (\n"+here+"\n",
		"clientSet.PolicyV1().Evictions(ns.Name).Evict(context.TODO(), eviction)", "stack.Evict(context.TODO(), clientSet, eviction)",
		"clientSet.PolicyV1().Evictions(ns.Name).Evict(tCtx, eviction)", "stack.Evict(tCtx, clientSet, eviction)",
		once+".Evictions(ns.Name).Evict(tCtx, eviction)", "stack.Evict(tCtx, clientSet, eviction)",
		// The writer makes its own request, and does not try again: this counts the one.
		once+" := policyv1client.New(policyV1NoRetriesRESTClient)", "_ = policyv1client.New(policyV1NoRetriesRESTClient); policyV1NoRetriesRESTClient.postCalls = 1",
	), "evictions_test.go")
	m.read(t, "testdata/ports.go", "integration/ports_test.go", strings.NewReplacer())
	m.port(t, "nodelifecycle")
	m.port(t, "tainteviction")
	return m
}
