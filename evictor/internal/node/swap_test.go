package node

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// A swap of our taints that is not permitted is left for later as a whole, and known to wait for that.
func TestSwapThatIsNotPermittedWaits(t *testing.T) {
	for _, permitted := range []bool{true, false} {
		w := failed() // Unknown, and carries what that asks for but for NoExecute
		w.NoHarm = !permitted
		w.Node.Spec.Taints = append(w.Node.Spec.Taints, v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute})
		p := w.Plan()
		require.Equal(t, !permitted, p.Waits)
		require.Equal(t, !permitted, p.Change.Empty())
	}
}
