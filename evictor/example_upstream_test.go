package evictor_test

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// tell is an observer that prints decisions of some kinds.
func tell(kinds ...kind) evictor.Options {
	return evictor.Options{Observer: observe(func(d decision) {
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
	fmt.Println(config.Nodes.NodeMonitorPeriod, config.Nodes.NodeMonitorGracePeriod, config.Nodes.NodeStartupGracePeriod)
	fmt.Println(config.Nodes.NodeEvictionRate, config.Nodes.SecondaryNodeEvictionRate, config.Nodes.LargeClusterSizeThreshold, config.Nodes.UnhealthyZoneThreshold)
	config.Nodes.NodeEvictionRate, config.Nodes.NodeMonitorGracePeriod = -1, 0
	fmt.Println(config.Validate())
	// Output:
	// 5s 50s 1m0s
	// 0.1 0.01 50 0.55
	// [nodes.nodeMonitorGracePeriod: Invalid value: "0s": must be greater than 0, nodes.nodeEvictionRate: Invalid value: -1: must be a finite number of at least 0]
}

// Without taints, as v1.16 without its feature gate TaintBasedEvictions: the pods of a failed node go after
// --pod-eviction-timeout.
func ExampleConfig_withoutTaints() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	config := evictor.DefaultConfig()
	config.Nodes.TaintBasedEviction, config.Nodes.PodEvictionTimeout = false, 2*time.Minute
	start(cluster, config, tell("NodeVerdict", "PodEvicted"))
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
func Example_allZonesDown() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 2), evictortest.Zone("b", 1), evictortest.PodsPerNode(1))
	e := start(cluster, evictor.DefaultConfig(), tell("AllZonesDown", "AllZonesDownEnded", "TaintsWritten"))
	cluster.Fail("a-0", "a-1")
	cluster.Advance(2 * time.Minute)
	cluster.Fail("b-0")
	cluster.Advance(time.Hour)
	fmt.Println(e.Nodes().AllZonesDown(), cluster.HasNoExecute("a-0"), cluster.Evicted())
	cluster.Recover("b-0")
	cluster.Advance(2 * time.Minute)
	fmt.Println(e.Nodes().AllZonesDown(), cluster.HasNoExecute("a-0"))
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
	start(cluster, evictor.DefaultConfig(), tell("NodeVerdict", "WriteFailed", "PodMarkedNotReady"))
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
type reinstalled struct{ cluster.NodeStore }

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
	options := tell("LabelsWritten")
	options.Clock = cluster.Clock()
	e, err := newTested(evictor.DefaultConfig(), clients, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	cluster.Drive(e.Step)
	// Output:
	// 00:00:00 node a-0: os and arch labels written
}

// The states of the zones, and who waits for its turn.
func Example_zones() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 4))
	e := start(cluster, evictor.DefaultConfig())
	cluster.Fail("a-0", "a-1", "a-2")
	cluster.Advance(time.Minute)
	for _, z := range e.Nodes().Zones() {
		fmt.Println(z.Zone, z.State, z.Counts.Bad, "of", z.Counts.Total, "rate", z.Rate)
	}
	for _, w := range e.Nodes().Waiting() {
		fmt.Println(w.Verdict.Node, "waits since", w.Queued.Sub(evictortest.Epoch))
	}
	// Output:
	// :a PartialDisruption 3 of 4 rate 0
	// a-0 waits since 55s
	// a-1 waits since 55s
	// a-2 waits since 55s
}
