package health_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/health"
)

// Which clusters are alive, without Kubernetes objects? The loop goes from one Next to the next, as a program would.
func ExampleDeadlines() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	beats, err := health.NewDeadlines[string](health.DeadlinesConfig{Grace: 40 * time.Second, Clock: clk})
	if err != nil {
		fmt.Println(err)
		return
	}
	beats.Beat("blue")
	beats.SetGrace("green", 24*time.Hour)
	for next, ok := beats.Next(); ok && next.Sub(clk.Now()) < time.Minute; next, ok = beats.Next() {
		clk.SetTime(next)
		for id := range beats.Expired() {
			fmt.Println(clk.Now().Format(time.TimeOnly), id, "is silent")
		}
	}
	// Output:
	// 12:00:40 blue is silent
}

// One big step of a fake clock is a gap in which nobody listened. A test that takes such steps sets MaxGap.
func ExampleDeadlinesConfig() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	for _, maxGap := range []time.Duration{0, time.Hour} {
		beats, err := health.NewDeadlines[string](health.DeadlinesConfig{Grace: 40 * time.Second, MaxGap: maxGap, Clock: clk})
		if err != nil {
			fmt.Println(err)
			return
		}
		beats.Beat("blue")
		clk.SetTime(clk.Now().Add(10 * time.Minute))
		fmt.Println(beats.Get("blue").Silent, beats.Get("blue").Late())
	}
	// Output:
	// 10s false
	// 10m0s true
}

// A link that is down for 50 seconds lets no device fall silent. What was silent before counts on afterwards.
func ExampleDeadlines_Pause() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	beats, err := health.NewDeadlines[string](health.DeadlinesConfig{Grace: 40 * time.Second, Clock: clk})
	if err != nil {
		fmt.Println(err)
		return
	}
	beats.Track("dead", clk.Now().Add(-35*time.Second))
	beats.Pause() // when the link breaks
	clk.SetTime(clk.Now().Add(50 * time.Second))
	fmt.Println(clk.Now().Format(time.TimeOnly), beats.Get("dead").Silent)
	beats.Resume() // when it is back
	for next, ok := beats.Next(); ok; next, ok = beats.Next() {
		clk.SetTime(next)
		for id := range beats.Expired() {
			fmt.Println(clk.Now().Format(time.TimeOnly), id, "is silent")
		}
	}
	// Output:
	// 12:00:50 35s
	// 12:00:55 dead is silent
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
			monitor.ObserveLease("node-1", time.Unix(7, 0), "1") // renewed once; the kubelet's clock does not matter
		}
		next, _ := monitor.Next()
		clk.SetTime(next)
	}
	// Output:
	// 12:00:00 node-1 True
	// 12:01:10 node-1 Unknown
	//   write Ready Unknown NodeStatusUnknown
	//   write MemoryPressure Unknown NodeStatusNeverUpdated
	//   write DiskPressure Unknown NodeStatusNeverUpdated
	//   write PIDPressure Unknown NodeStatusNeverUpdated
}

// A node that has never reported gets the start-up grace, counted from its creation.
func ExampleConfig() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	config := health.DefaultConfig()
	config.Clock, config.NodeMonitorPeriod = clk, 0 // verdicts come when they are due
	monitor, err := health.NewMonitor(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	monitor.ObserveNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new", UID: "1", CreationTimestamp: metav1.NewTime(clk.Now())}})
	for range 10 {
		for _, v := range monitor.Pass() {
			fmt.Println(clk.Now().Format(time.TimeOnly), v.Node, v.Ready, "grace", v.Grace)
		}
		next, _ := monitor.Next()
		clk.SetTime(next)
	}
	// Output:
	// 12:00:00 new  grace 1m0s
	// 12:01:00 new Unknown grace 1m0s
}
