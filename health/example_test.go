package health_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/health"
)

// Is it alive, without Kubernetes objects.
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
			monitor.ObserveRenewal("node-1", time.Unix(7, 0)) // its lease, renewed once by whatever clock
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
