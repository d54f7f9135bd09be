package capacity_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

// notAtNight is a Gate that refuses evictions from 22:00 to 6:00, and says when to ask again.
func notAtNight(clock clock.PassiveClock) gate.Gate {
	return gate.Func(func(_ context.Context, act gate.Act) error {
		now := clock.Now().UTC()
		morning := time.Date(now.Year(), now.Month(), now.Day(), 6, 0, 0, 0, time.UTC)
		switch {
		case act.Do != gate.Evict || 6 <= now.Hour() && now.Hour() < 22:
			return nil
		case now.Hour() >= 22:
			morning = morning.AddDate(0, 0, 1)
		}
		return &gate.Refused{Reason: "Night", Again: morning}
	})
}

// notWithoutRoom is a Gate that refuses evictions while each other node is full or takes no pods. It is asked again after a
// second, two, four and so on, up to a minute. Check, in this package, counts resources, and promises room only once.
func notWithoutRoom(nodes cluster.NodeStore, pods cluster.PodStore, full int) gate.Gate {
	return gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do != gate.Evict {
			return nil
		}
		for node := range nodes.Nodes {
			there := 0
			pods.PodsOnNode(node.Name, func(*v1.Pod) bool { there++; return true })
			if node.Name != act.Node && len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable && there < full {
				return nil
			}
		}
		return &gate.Refused{Reason: "NoRoom"}
	})
}

// fatal stands for the *testing.T of a test.
type fatal struct{}

func (fatal) Helper()                           {}
func (fatal) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Not at night, and not without room elsewhere. A node fails at one o'clock, and at half past six a node is added.
func Example() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	stores := cluster.Clients()
	cluster.Start(evictor.DefaultConfig(), evictor.Options{
		Gate: gate.All(notAtNight(cluster.Clock()), notWithoutRoom(stores.Nodes, stores.Pods, 1)),
		Observer: evictor.Observe(nil, func(d evictor.PodDecision) {
			if d.Kind == tainteviction.EvictionDelayed || d.Kind == tainteviction.PodEvicted {
				fmt.Println(explain.Pod(d))
			}
		}),
	})
	cluster.Advance(time.Hour)
	cluster.Fail("a-0")
	cluster.Advance(5*time.Hour + 30*time.Minute)
	cluster.AddNode("a-3", zone.Key{Zone: "a"})
	cluster.Advance(5 * time.Minute)
	// Output:
	// 01:05:55 pod default/a-0-p0: eviction held back: Night
	// 06:00:00 pod default/a-0-p0: eviction held back: NoRoom
	// 06:30:02 pod default/a-0-p0: evicted from node a-0: tolerated node.kubernetes.io/unreachable:NoExecute for 5m0s (tolerations[1])
}
