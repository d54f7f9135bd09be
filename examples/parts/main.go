// Command parts uses each of the five small packages alone, without the others and without a cluster.
package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

var (
	minute = int64(60)
	node   = &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}}}
	pod    = &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists, TolerationSeconds: &minute}}}}
)

// The errors that New returns list every fault of a configuration; these have none.
func main() {
	// Who has fallen silent? Call Beat at each sign of life, and ask when beats.Next() says.
	beats, _ := health.NewDeadlines[string](health.DeadlinesConfig{Grace: 40 * time.Second})
	beats.Beat("device-1")
	for device := range beats.Expired() {
		fmt.Println(device, "is silent")
	}

	// How disrupted is each failure domain, and how fast may it be emptied?
	zones, _ := zone.New[string](zone.DefaultPolicy())
	zones.Set("node-1", zone.Key{Zone: "a"}, zone.Member{Ready: false})
	zones.Set("node-2", zone.Key{Zone: "a"}, zone.Member{Ready: true})
	for _, change := range zones.Evaluate(time.Now()) {
		fmt.Println("zone", change.Zone, "is in", change.State, "at", change.Rate, "nodes a second")
	}

	// Whose turn is it? Each key waits once, for a rate that may change at any moment.
	queue, _ := ratelimitqueue.New[string, string](ratelimitqueue.Config{Rate: rate.Every(10 * time.Second)})
	queue.Add("node-1", "no heartbeat")
	for item, ok := queue.Take(); ok; item, ok = queue.Take() {
		fmt.Println("the turn of", item.Key, "because of", item.Value)
		item.Done()
	}

	// One piece of work for each key, at its time, on eight workers. Cancel says whether it was in time.
	work, _ := timedworker.New(func(_ context.Context, w timedworker.Work[string, string]) timedworker.Result {
		fmt.Println("evict", w.Key, "because of", w.Value)
		return timedworker.Forget() // or Retry(err), after a backoff
	}, timedworker.Config{Workers: 8})
	work.Schedule("pod-1", "its node is unreachable", time.Now().Add(5*time.Minute))
	fmt.Println("cancelled in time:", work.Cancel("pod-1") == timedworker.Waiting)

	// May the pod go to this node, and for how long would it stay?
	if taint, found := taints.Untolerated(node.Spec.Taints, pod.Spec.Tolerations, false); found {
		fmt.Println("not there, because of", taint.ToString())
	}
	stay := taints.Tolerate(node.Spec.Taints, pod.Spec.Tolerations, false)
	fmt.Println("it would stay:", stay.Forever, stay.For)
}
