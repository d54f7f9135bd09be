package explain_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

// A line has the decision's time and its grounds as fields. Without a Logger it goes to the default one of that moment.
func TestLogLinesHaveFields(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	for _, nobody := range []bool{false, true} {
		var text strings.Builder
		to := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
		log := explain.Log(to)
		if nobody {
			log = explain.Log(nil)
			slog.SetDefault(to)
		}
		at := time.Date(2000, 1, 1, 0, 0, 55, 0, time.UTC)
		taint := v1.Taint{Key: "k", Value: "v", Effect: v1.TaintEffectNoExecute}
		pod := cluster.PodRef{PodKey: cluster.PodKey{Namespace: "shop", Name: "cart"}, Node: "a-0"}
		log.ObserveNode(nodelifecycle.Decision{Time: at, Kind: nodelifecycle.NodeQueued, Node: "a-0", Zone: zone.Key{Zone: "a"}, State: zone.PartialDisruption})
		log.ObserveNode(nodelifecycle.Decision{Time: at, Kind: nodelifecycle.TaintsWritten, Node: "a-0", Added: []v1.Taint{taint}})
		log.ObserveNode(nodelifecycle.Decision{Time: at, Kind: nodelifecycle.WriteFailed, Node: "a-0", Reason: "taints", Err: errors.New("boom")})
		log.ObservePod(tainteviction.Decision{Time: at, Kind: tainteviction.EvictionDelayed, Pod: pod, Taint: &taint, Reason: "Night", Err: errors.New("not at night")})
		require.Equal(t, `time=2000-01-01T00:00:55.000Z level=DEBUG msg="node a-0: zone :a: PartialDisruption, 0 of 0 not ready, rate 0/s; waits for its turn" kind=NodeQueued node=a-0 pod="" zone=:a rate=0
time=2000-01-01T00:00:55.000Z level=INFO msg="node a-0: taint k=v:NoExecute added" kind=TaintsWritten node=a-0 pod="" taint="k=v:NoExecute"
time=2000-01-01T00:00:55.000Z level=WARN msg="node a-0: taints failed, will be retried: boom" kind=WriteFailed node=a-0 pod="" reason=taints error=boom
time=2000-01-01T00:00:55.000Z level=DEBUG msg="pod shop/cart: eviction held back: Night: not at night" kind=EvictionDelayed node=a-0 pod=shop/cart taint="k=v:NoExecute" reason=Night error="not at night"
`, text.String())
	}
}
