package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Labels that cannot be written, for example because of an admission policy, keep no pod on a dead node.
func TestLabelsThatCannotBeWrittenHoldNothingUp(t *testing.T) {
	cfg := upstreamsConfig()
	cfg.TaintBasedEviction = false
	u := newUpstreams(t, cfg)
	u.node("node0", "", longAgo, v1.ConditionTrue)
	u.node("node1", "", longAgo, v1.ConditionTrue)
	u.change("node0", func(n *v1.Node) { n.Labels[v1.LabelOSStable] = "linux" })
	u.reporting["node1"] = true
	u.pod("p", "node0")
	u.fail = func(write string) error {
		if write == "labels" {
			return errors.New("denied")
		}
		return nil
	}
	for range 200 {
		u.pass(5 * time.Second)
	}
	require.Positive(t, u.marks)
	require.Equal(t, []string{"p"}, u.evicted)
}
