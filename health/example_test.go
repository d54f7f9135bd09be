package health_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/health"
)

// Which clusters are alive, without Kubernetes objects?
func ExampleDeadlines() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	beats, err := health.NewDeadlines[string](health.DeadlinesConfig{Grace: 40 * time.Second, Clock: clk})
	if err != nil {
		fmt.Println(err)
		return
	}
	beats.Beat("blue")
	clk.SetTime(clk.Now().Add(30 * time.Second))
	beats.Beat("green")
	next, _ := beats.Next()
	fmt.Println("look again at", next.Format(time.TimeOnly))
	clk.SetTime(next)
	for id := range beats.Expired() {
		fmt.Println(id, "is silent")
	}
	// Output:
	// look again at 12:00:40
	// blue is silent
}

// Which nodes to repair, by a list of conditions with timeouts, as repair controllers have.
func ExampleDurations() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	repairs, err := health.NewDurations[string](health.DurationsConfig{Clock: clk, Rules: []health.Rule{
		{Type: v1.NodeReady, Status: v1.ConditionFalse, For: 5 * time.Minute},
		{Type: v1.NodeReady, Status: v1.ConditionUnknown, For: 10 * time.Minute},
		{Type: "KernelDeadlock", Status: v1.ConditionTrue, For: time.Minute},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	since := func(clock string, status v1.ConditionStatus) []v1.NodeCondition {
		t, _ := time.Parse(time.DateTime, "2000-01-01 "+clock)
		return []v1.NodeCondition{{Type: v1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(t)}}
	}
	reconcile := func(node string, conditions []v1.NodeCondition) {
		for _, lasting := range repairs.Observe(node, conditions) {
			if lasting.Left > 0 {
				fmt.Println(node, "is not Ready since", lasting.Since.Format(time.TimeOnly)+"; look again in", lasting.Left)
			} else {
				fmt.Println("repair", node, "because of", lasting.Rule.Type, lasting.Rule.Status, "for", lasting.Rule.For)
			}
		}
	}
	reconcile("node-1", since("11:57:00", v1.ConditionFalse))
	reconcile("node-2", since("11:00:00", v1.ConditionTrue))
	clk.SetTime(clk.Now().Add(2 * time.Minute))
	reconcile("node-1", since("11:57:00", v1.ConditionFalse))
	// Output:
	// node-1 is not Ready since 11:57:00; look again in 2m0s
	// repair node-1 because of Ready False for 5m0s
}

// Verdicts about nodes, from their objects and leases.
func ExampleMonitor() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	config := health.DefaultConfig()
	config.Clock = clk
	monitor, err := health.NewMonitor(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "1"}}
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(clk.Now())}}
	monitor.ObserveNode(node)
	for range 20 {
		for _, v := range monitor.Pass() {
			fmt.Println(clk.Now().Format(time.TimeOnly), v.Node, v.Ready)
			if v.Expired {
				for _, c := range health.UnknownConditions(node, clk.Now()) {
					fmt.Println("  write", c.Type, c.Status, c.Reason)
				}
			}
		}
		if clk.Now().Second() == 10 {
			monitor.ObserveRenewal("node-1", time.Unix(7, 0)) // its lease, renewed once; the kubelet's clock does not matter
		}
		next, _ := monitor.Next()
		clk.SetTime(next)
	}
	// Output:
	// 12:00:00 node-1 True
	// 12:01:05 node-1 Unknown
	//   write Ready Unknown NodeStatusUnknown
	//   write MemoryPressure Unknown NodeStatusNeverUpdated
	//   write DiskPressure Unknown NodeStatusNeverUpdated
	//   write PIDPressure Unknown NodeStatusNeverUpdated
}

// A node that has never reported gets the start-up grace, counted from its creation.
func ExampleConfig() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	config := health.DefaultConfig()
	config.Clock, config.NodeMonitorPeriod = clk, 0 // exact: verdicts come when they are due
	monitor, err := health.NewMonitor(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	monitor.ObserveNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new", UID: "1", CreationTimestamp: metav1.NewTime(clk.Now())}})
	monitor.Pass()
	next, _ := monitor.Next()
	clk.SetTime(next)
	for _, v := range monitor.Pass() {
		fmt.Println(clk.Now().Format(time.TimeOnly), v.Node, v.Ready, "grace", v.Grace)
	}
	// Output:
	// 12:01:00 new Unknown grace 1m0s
}
