package main

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// permissions returns what the flags need.
func permissions(t *testing.T, args ...string) (all []string) {
	t.Helper()
	o, err := parse(args, io.Discard)
	require.NoError(t, err)
	for _, p := range needed(&o, watching(&o, slog.Default())) {
		all = append(all, p.String())
	}
	slices.Sort(all)
	return all
}

func TestAHalfNeedsLess(t *testing.T) {
	without := func(all []string, gone ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(gone, p) })
	}
	both := permissions(t, "--half=both", "--leader-elect=false")
	require.Equal(t, permissions(t, "--leader-elect=false"), both)
	lifecycle := permissions(t, "--half=lifecycle", "--leader-elect=false")
	require.Equal(t, without(both, "delete pods"), lifecycle)
	require.Equal(t, lifecycle, permissions(t, "--half=lifecycle", "--use-eviction-api", "--leader-elect=false"))
	require.Equal(t, without(both, "patch nodes", "patch nodes/status", "get leases.coordination.k8s.io in kube-node-lease",
		"list leases.coordination.k8s.io in kube-node-lease", "watch leases.coordination.k8s.io in kube-node-lease"),
		permissions(t, "--half=taint-eviction", "--leader-elect=false"))
	require.Contains(t, permissions(t, "--half=lifecycle", "--enable-taint-manager=false"), "delete pods", "which it deletes then")
	require.Equal(t, []string{"list nodes", "list pods", "watch nodes", "watch pods"}, permissions(t, "--half=taint-eviction", "--dry-run", "--insecure-serving"))
	reviews := []string{
		"create subjectaccessreviews.authorization.k8s.io", "create tokenreviews.authentication.k8s.io",
		"list configmaps extension-apiserver-authentication in kube-system", "watch configmaps extension-apiserver-authentication in kube-system",
	}
	require.Subset(t, both, reviews, "of who asks for metrics")
	for _, unasked := range [][]string{{"--insecure-serving"}, {"--metrics-address=", "--debug-address="}} {
		require.Equal(t, without(both, reviews...), permissions(t, append(unasked, "--leader-elect=false")...))
	}
}

// TestHalvesHaveLeasesOfTheirOwn: with a common lease only one of them would act.
func TestHalvesHaveLeasesOfTheirOwn(t *testing.T) {
	for args, name := range map[string]string{
		"":                      "evictkit-controller",
		"--half=both":           "evictkit-controller",
		"--half=lifecycle":      "evictkit-controller-lifecycle",
		"--half=taint-eviction": "evictkit-controller-taint-eviction",
		"--half=lifecycle --leader-elect-resource-name=ours": "ours",
	} {
		o, err := parse(strings.Fields(args), io.Discard)
		require.NoError(t, err)
		require.Equal(t, name, o.leader.resourceName, args)
	}
}

func TestHalvesArrive(t *testing.T) {
	for text, want := range map[string]clientgo.Half{"both": clientgo.Both, "lifecycle": clientgo.Lifecycle, "taint-eviction": clientgo.TaintEviction} {
		o, err := parse([]string{"--half=" + text}, io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, o.half)
		require.Equal(t, want, watching(&o, nil).Half)
	}
	for args, want := range map[string]clientgo.Half{"": clientgo.Lifecycle, "--half=both": clientgo.Both} {
		o, err := parse(append(strings.Fields(args), "--enable-taint-manager=false"), io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, o.half, "without a taint manager, unless both halves are asked for")
		require.Equal(t, "evictkit-controller", o.leader.resourceName)
		says := strings.Join(o.warnings(), "\n")
		require.Equal(t, want == clientgo.Lifecycle, strings.Contains(says, "NoExecute taints evict nobody"), says)
	}
	_, err := parse([]string{"--half=upper"}, io.Discard)
	require.EqualError(t, err, `invalid argument "upper" for "--half" flag: must be both, lifecycle or taint-eviction`)
	_, err = parse([]string{"--half=taint-eviction", "--enable-taint-manager=false"}, io.Discard)
	require.EqualError(t, err, "--enable-taint-manager=false: leaves --half=taint-eviction nothing to do")
}

// There is no warning about a rate that evicts nothing.
func TestAPaceThatEvictsNothingIsNotWarnedOf(t *testing.T) {
	for args, warnings := range map[string]int{
		"--half=both": 1, "--half=lifecycle": 0, "--half=taint-eviction": 0, "--half=both --enable-taint-manager=false": 1,
	} {
		o, err := parse(append(strings.Fields(args), "--node-eviction-rate=2"), io.Discard)
		require.NoError(t, err)
		require.Len(t, o.warnings(), warnings, args)
	}
}

// TestTaintEvictionAsksForNoLeases of nodes, and is ready without them.
func TestTaintEvictionAsksForNoLeases(t *testing.T) {
	s := newAPIServer()
	s.nodes, s.pods = 2, 2
	s.denied = func(verb, resource string) bool {
		return resource == "leases" || strings.HasPrefix(resource, "nodes") && verb == "patch"
	}
	s.Start()
	t.Cleanup(s.Close)
	r := start(t, s, "--half=taint-eviction", "--leader-elect=false")
	r.ready(t)
	require.NoError(t, r.stop())
	for request := range s.seen() {
		require.NotContains(t, request, "lease")
	}
}
