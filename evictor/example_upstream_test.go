package evictor_test

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// tell is an observer that prints decisions of some kinds.
func tell(kinds ...evictor.Kind) evictor.Options {
	return evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		for _, kind := range kinds {
			if d.Kind == kind {
				fmt.Println(d)
			}
		}
	})}
}

// The fields are kube-controller-manager's flags. Validate reports every fault.
func ExampleConfig_Validate() {
	config := evictor.DefaultConfig()
	fmt.Println(config.NodeMonitorPeriod, config.NodeMonitorGracePeriod, config.NodeStartupGracePeriod)
	fmt.Println(config.NodeEvictionRate, config.SecondaryNodeEvictionRate, config.LargeClusterSizeThreshold, config.UnhealthyZoneThreshold)
	config.NodeEvictionRate, config.NodeMonitorGracePeriod = -1, 0
	fmt.Println(config.Validate())
	// Output:
	// 5s 50s 1m0s
	// 0.1 0.01 50 0.55
	// [nodeMonitorGracePeriod: Invalid value: "0s": must be greater than 0, nodeEvictionRate: Invalid value: -1: must be a finite number of at least 0]
}

// Without taints, as with --enable-taint-manager=false: the pods of a failed node go after --pod-eviction-timeout.
func ExampleConfig_withoutTaints() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	config := evictor.DefaultConfig()
	config.TaintBasedEviction, config.PodEvictionTimeout = false, 2*time.Minute
	cluster.Start(config, tell(evictor.NodeVerdict, evictor.PodEvicted))
	cluster.Fail("a-0")
	cluster.Advance(5 * time.Minute)
	fmt.Println(cluster.Taints("a-0"))
	// Output:
	// 00:00:55 node a-0: no heartbeat seen for 55s (grace 50s), Ready True → Unknown
	// 00:02:05 pod default/a-0-p0: evicted from node a-0: PodEvictionTimeout
	// [node.kubernetes.io/unreachable:NoSchedule]
}

// Every node is silent, so more likely the evictor is cut off. It lifts its taints and evicts no pod until it hears a
// node again.
func ExampleEvictor_AllZonesDown() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 2), evictortest.Zone("b", 1), evictortest.PodsPerNode(1))
	e := cluster.Start(evictor.DefaultConfig(), tell(evictor.AllZonesDown, evictor.AllZonesDownEnded, evictor.TaintsWritten))
	cluster.Fail("a-0", "a-1")
	cluster.Advance(2 * time.Minute)
	cluster.Fail("b-0")
	cluster.Advance(time.Hour)
	fmt.Println(e.AllZonesDown(), cluster.HasNoExecute("a-0"), cluster.Evicted())
	cluster.Recover("b-0")
	cluster.Advance(2 * time.Minute)
	fmt.Println(e.AllZonesDown(), cluster.HasNoExecute("a-0"))
	// Output:
	// 00:00:55 node a-0: taint node.kubernetes.io/unreachable:NoSchedule added, taint node.kubernetes.io/unreachable:NoExecute added
	// 00:00:55 node a-1: taint node.kubernetes.io/unreachable:NoSchedule added
	// 00:01:05 node a-1: taint node.kubernetes.io/unreachable:NoExecute added
	// 00:02:55 cluster: every zone is fully disrupted: no taints and evictions of ours until that ends
	// 00:02:55 node a-0: taint node.kubernetes.io/unreachable:NoExecute removed
	// 00:02:55 node a-1: taint node.kubernetes.io/unreachable:NoExecute removed
	// 00:02:55 node b-0: taint node.kubernetes.io/unreachable:NoSchedule added
	// true false []
	// 01:02:00 node b-0: taint node.kubernetes.io/unreachable:NoSchedule removed
	// 01:02:05 cluster: some zone is no longer fully disrupted: heartbeat clocks restart
	// 01:03:00 node a-0: taint node.kubernetes.io/unreachable:NoExecute added
	// 01:03:10 node a-1: taint node.kubernetes.io/unreachable:NoExecute added
	// false true
}

// The evictor marks the pods of a silent node not Ready, and retries writes that fail.
func ExamplePodWriter() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	cluster.Start(evictor.DefaultConfig(), tell(evictor.NodeVerdict, evictor.WriteFailed, evictor.PodMarkedNotReady))
	tries := 0
	cluster.FailWrites(func(write, _ string) error {
		if write != "podStatus" {
			return nil
		}
		if tries++; tries < 3 {
			return errors.New("the API server is busy")
		}
		return nil
	})
	cluster.Fail("a-0")
	cluster.Advance(2 * time.Minute)
	// Output:
	// 00:00:55 node a-0: no heartbeat seen for 55s (grace 50s), Ready True → Unknown
	// 00:00:55 node a-0: marking pods not Ready failed, will be retried: marking pods not Ready of node a-0: pod default/a-0-p0: the API server is busy
	// 00:00:55 node a-0: marking pods not Ready failed, will be retried: marking pods not Ready of node a-0: pod default/a-0-p0: the API server is busy
	// 00:00:55 pod default/a-0-p0: marked not Ready, node a-0 is unreachable
}

// reinstalled is a store whose nodes run another system now, as their kubelets say in the stable label.
type reinstalled struct{ evictor.NodeStore }

func (l reinstalled) Node(name string) (*v1.Node, bool) {
	node, found := l.NodeStore.Node(name)
	return onWindows(node), found
}

func (l reinstalled) Nodes(visit func(*v1.Node) bool) {
	l.NodeStore.Nodes(func(node *v1.Node) bool { return visit(onWindows(node)) })
}

func onWindows(node *v1.Node) *v1.Node {
	if node != nil {
		node = node.DeepCopy()
		node.Labels[v1.LabelOSStable] = "windows"
	}
	return node
}

// The labels beta.kubernetes.io/os and arch follow kubernetes.io/os and arch.
func ExampleNodeWriter() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 1))
	clients := cluster.Clients()
	clients.Nodes = reinstalled{clients.Nodes}
	options := tell(evictor.LabelsWritten)
	options.Clock = cluster.Clock()
	e, err := evictor.New(evictor.DefaultConfig(), clients, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	cluster.Drive(e.Step)
	// Output:
	// 00:00:00 node a-0: os and arch labels written
}

// Events have upstream's reasons and messages.
func ExampleEventSink() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	clients := cluster.Clients()
	clients.EventSink = printEvents{}
	e, err := evictor.New(evictor.DefaultConfig(), clients, evictor.Options{Clock: cluster.Clock()})
	if err != nil {
		fmt.Println(err)
		return
	}
	cluster.Drive(e.Step)
	cluster.Fail("a-0")
	cluster.Advance(2 * time.Minute)
	cluster.Recover("a-0")
	cluster.Advance(time.Minute)
	cluster.DeleteNode("a-1")
	cluster.Advance(time.Minute)
	// Output:
	// Normal RegisteredNode Node a-0 event: Registered Node a-0 in Controller
	// Normal RegisteredNode Node a-1 event: Registered Node a-1 in Controller
	// Normal NodeNotReady Node a-0 status is now: NodeNotReady
	// Warning NodeNotReady Node is not ready
	// Normal TaintManagerEviction Cancelling deletion of Pod default/a-0-p0
	// Normal RemovingNode Node a-1 event: Removing Node a-1 from Controller
}

type printEvents struct{}

func (printEvents) Event(e evictor.Event) { fmt.Println(e.Type, e.Reason, e.Message) }

// Only the second half: whoever taints a node, its pods leave as their tolerations end. The evictor writes no nodes.
func ExampleHalf() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	config := evictor.DefaultConfig()
	config.Half = evictor.TaintEviction
	cluster.Start(config, tell(evictor.EvictionArmed, evictor.EvictionMoved, evictor.EvictionCancelled, evictor.PodEvicted))
	maintenance := v1.Taint{Key: "example.com/maintenance", Effect: v1.TaintEffectNoExecute}
	cluster.AddPod("batch", "a-1", evictortest.TolerateFor(maintenance.Key, 60))
	cluster.Taint("a-1", maintenance)
	cluster.Advance(30 * time.Second)
	cluster.Tolerate("default/batch", evictortest.TolerateFor(maintenance.Key, 120))
	cluster.Advance(30 * time.Second)
	cluster.Untaint("a-1", maintenance.Key, maintenance.Effect)
	cluster.Advance(time.Hour)
	// Output:
	// 00:00:00 pod default/a-1-p0: does not tolerate example.com/maintenance:NoExecute, due 00:00:00
	// 00:00:00 pod default/batch: tolerates example.com/maintenance:NoExecute for 1m0s (tolerations[0]), due 00:01:00
	// 00:00:00 pod default/a-1-p0: evicted from node a-1: does not tolerate example.com/maintenance:NoExecute
	// 00:00:30 pod default/batch: tolerates example.com/maintenance:NoExecute for 2m0s (tolerations[0]), due 00:02:00
	// 00:01:00 pod default/batch: eviction cancelled: TaintRemoved
}

// The states of the zones, and who waits for its turn.
func ExampleEvictor_Zones() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 4))
	e := cluster.Start(evictor.DefaultConfig())
	cluster.Fail("a-0", "a-1", "a-2")
	cluster.Advance(time.Minute)
	for _, z := range e.Zones() {
		fmt.Println(z.Zone, z.State, z.Counts.Bad, "of", z.Counts.Total, "rate", z.Rate)
	}
	for _, w := range e.Waiting() {
		fmt.Println(w.Node, "waits since", w.Since.Sub(evictortest.Epoch))
	}
	// Output:
	// :a PartialDisruption 3 of 4 rate 0
	// a-0 waits since 55s
	// a-1 waits since 55s
	// a-2 waits since 55s
}
