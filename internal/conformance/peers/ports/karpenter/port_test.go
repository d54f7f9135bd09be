package karpenter

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	// The suite's imports, so that go.mod has them.
	_ "github.com/onsi/ginkgo/v2"
	_ "github.com/onsi/gomega"
	"github.com/stretchr/testify/require"
	_ "sigs.k8s.io/karpenter/pkg/controllers/node/legacyrepair"
	_ "sigs.k8s.io/karpenter/pkg/controllers/node/termination/terminator"
	_ "sigs.k8s.io/karpenter/pkg/test/expectations"
	_ "sigs.k8s.io/karpenter/pkg/test/v1alpha1"
	_ "sigs.k8s.io/karpenter/pkg/utils/testing"

	_ "github.com/evictkit/evictkit/evictor/budget" // and the port's
	_ "github.com/evictkit/evictkit/internal/conformance/peers/lasting"
	"github.com/evictkit/evictkit/internal/port"
)

const (
	theirs = "sigs.k8s.io/karpenter/pkg/controllers/node/legacyrepair"
	ours   = "github.com/evictkit/evictkit/internal/conformance/peers/ports/karpenter/legacyrepair"
)

// TestItsOwnSuitePasses builds Karpenter's suite on the port, and runs it with the kube-apiserver and the etcd that
// package controlplane builds once. It has them from another version of Kubernetes, so another module runs it.
func TestItsOwnSuitePasses(t *testing.T) {
	built, err := port.Port{Of: theirs, As: ours}.Build(t.TempDir())
	require.NoError(t, err)
	require.Zero(t, built.Tests, "its suite is as it was")
	t.Log(built.Code)
	find := exec.Command("go", "run", "-C", "../../..", "./controlplane/find")
	find.Stderr = os.Stderr
	programs, err := find.Output()
	require.NoError(t, err)
	run := exec.Command(built.Program)
	run.Dir = t.TempDir()
	run.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+strings.TrimSpace(string(programs)))
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "18 Passed")
}
