package evictortest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

func TestMisuseSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		name string
		want string
		use  func(c *evictortest.Cluster)
	}{
		{"PodOnNoNode", "pod x: node nope does not exist", func(c *evictortest.Cluster) { c.AddPod("x", "nope") }},
		{"ObjectOnNoNode", "pod x: node nope does not exist", func(c *evictortest.Cluster) {
			c.AddPodObject(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}, Spec: v1.PodSpec{NodeName: "nope"}})
		}},
		{"PodTwice", "pod default/a-0-p0 already exists", func(c *evictortest.Cluster) { c.AddPod("a-0-p0", "a-0") }},
		{"NodeTwice", "node a-0 already exists", func(c *evictortest.Cluster) { c.AddNode("a-0", zone.Key{Zone: "a"}) }},
		{"NoNode", "fail: node nope does not exist", func(c *evictortest.Cluster) { c.Fail("nope") }},
		{"ConditionOfAFailedNode", "condition: node a-0 has failed: only a live kubelet", func(c *evictortest.Cluster) {
			c.Fail("a-0")
			c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
		}},
		{"LabelsOfNoNode", "node nope does not exist", func(c *evictortest.Cluster) { c.LabelNode("nope", nil) }},
		{"LabelsOfNoPod", "pod nope does not exist", func(c *evictortest.Cluster) { c.LabelPod("nope", nil) }},
		{"RestartBeforeStart", "cannot restart an evictor that Start did not begin", func(c *evictortest.Cluster) { c.Restart() }},
		{"TwoOptionsAtStart", "Start with 2 Options, of which only one could count", func(c *evictortest.Cluster) {
			c.Start(evictor.DefaultConfig(), evictor.Options{}, evictor.Options{})
		}},
		{"AnotherClock", "Start with a Clock (clock.RealClock) that is not the cluster's: give Cluster.Clock, also to a budget.Config", func(c *evictortest.Cluster) {
			c.Start(evictor.DefaultConfig(), evictor.Options{Clock: clock.RealClock{}})
		}},
		{"EvictedFromNoNode", `there never was a node "typo", only a-0`, func(c *evictortest.Cluster) { c.EvictedFrom("typo") }},
		{"TaintsOfNoNode", `there never was a node "typo", only a-0`, func(c *evictortest.Cluster) { c.Taints("typo") }},
		{"NoExecuteOfNoNode", `there never was a node "typo", only a-0`, func(c *evictortest.Cluster) { c.HasNoExecute("typo") }},
		{"DriveThatIsAlwaysDue", "Advance has stepped the controllers 10000 times at 0s, and one of them still says that it is due", func(c *evictortest.Cluster) {
			c.Drive(func(context.Context) (time.Time, error) { return c.Clock().Now(), nil })
			c.Advance(time.Minute)
		}},
		{"EvictedWithoutStart", "nothing acts in this cluster: call Start first", func(c *evictortest.Cluster) { c.Evicted() }},
		{"EvictedFromWithoutStart", "nothing acts in this cluster: call Start first", func(c *evictortest.Cluster) { c.EvictedFrom("a-0") }},
		{"NoExecuteWithoutStart", "nothing acts in this cluster: call Start first", func(c *evictortest.Cluster) { c.HasNoExecute("a-0") }},
		{"TimelineWithoutStart", "nothing acts in this cluster: call Start first", func(c *evictortest.Cluster) { c.Timeline() }},
		{"ExplainWithoutStart", "Explain tells what an evictor has decided: call Start first", func(c *evictortest.Cluster) { c.Explain("a-0") }},
		{"ExplainOfNoNode", `there never was a node or pod "typo"`, func(c *evictortest.Cluster) {
			c.Start(evictor.DefaultConfig())
			c.Explain("typo")
		}},
		{"ZoneTwice", `Zone("a", 2): the zone is given twice`, func(*evictortest.Cluster) {
			evictortest.New(fatal{}, evictortest.Zone("a", 0), evictortest.Zone("a", 2))
		}},
		{"ZoneOfTwoRegions", `Zone("s:a", 2): the names of its nodes are those of zone r:a`, func(*evictortest.Cluster) {
			evictortest.New(fatal{}, evictortest.Zone("r:a", 0), evictortest.Zone("s:a", 2))
		}},
		{"NegativeZone", `Zone("a", -1): the number of nodes must not be negative`, func(*evictortest.Cluster) {
			evictortest.New(fatal{}, evictortest.Zone("a", -1))
		}},
		{"NegativePods", "PodsPerNode(-1): the number must not be negative", func(*evictortest.Cluster) {
			evictortest.New(fatal{}, evictortest.PodsPerNode(-1))
		}},
		{"NegativeStart", "simulation: notReadyFor: -1s is negative", func(*evictortest.Cluster) {
			evictortest.New(fatal{}, evictortest.NotReadyFor(-time.Second))
		}},
		{"OptionTwice", "PodsPerNode is given twice", func(*evictortest.Cluster) {
			evictortest.New(fatal{}, evictortest.PodsPerNode(1), evictortest.PodsPerNode(2))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := evictortest.New(fatal{}, evictortest.Zone("a", 1), evictortest.PodsPerNode(1))
			defer func() { require.Contains(t, recover(), "evictortest: "+test.want) }()
			test.use(c)
		})
	}
}
