package main

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// outage is how long a lost zone is watched.
const outage = 3 * time.Minute

func zoneRows(s setting, n int) []row {
	var a, b loss
	r := row{n: n}
	r.ours, r.upstream = pair(s.scenes(n), func() cost { a = lose(s, n, newOurs); return a.cost },
		func() cost { b = lose(s, n, newUpstream); return b.cost })
	if a.tainted == 0 || a.evicted == 0 || !similar(a.tainted, b.tainted) || !similar(a.evicted, b.evicted) {
		s.Errorf("a zone of %d nodes was lost and this was done: %v by ours, %v by upstream", n/zones, a.done, b.done)
	}
	r.work = fmt.Sprintf("zone lost, 3 virtual minutes: %v : %v; %s of CPU for the heartbeats alone", a.done, b.done, duration(lose(s, n, newNobody).cpu))
	return []row{r}
}

// similar leaves upstream the one turn that its ticks may cost it.
func similar(a, b int) bool { return max(a, b)-min(a, b) <= max(a, b)/50 }

// loss is what a lost zone costs and comes to.
type loss struct {
	cost
	done
}

// done counts what the loss of a zone comes to.
type done struct{ unknown, tainted, notReady, evicted int }

func (d done) String() string {
	return fmt.Sprintf("%d nodes Unknown, %d tainted, %d pods not ready, %d evicted", d.unknown, d.tainted, d.notReady, d.evicted)
}

// lose plays the loss of zone a.
func lose(s setting, n int, b build) (l loss) {
	synctest.Test(s.T, func(t *testing.T) {
		f := &fleet{names: nodeNames(n)}
		var objects []apiruntime.Object
		for i := range f.names {
			objects = append(objects, f.node(i))
			for p := range podsPerNode {
				objects = append(objects, f.pod(i, p))
			}
		}
		c := newClient(objects...)
		scene := newScene(t, c, b)
		defer scene.stop()
		lost := false
		k := &kubelets{
			fleet:      f,
			heartbeats: usual,
			leases:     scene.factory.Coordination().V1().Leases().Informer().GetIndexer(),
			told:       scene.side.leaseRenewed,
			report: func(i int) {
				if _, err := c.Clientset.CoreV1().Nodes().UpdateStatus(scene.ctx, f.node(i), metav1.UpdateOptions{}); err != nil {
					t.Error(err)
				}
			},
			failed: func(i int) bool { return lost && zoneOf(i) == "a" },
		}
		for i := range f.names {
			k.renew(i)
		}
		scene.start()
		scene.pass(k, time.Minute)
		synctest.Wait()
		lost = true
		l.cost = spent(func() {
			scene.pass(k, outage)
			synctest.Wait()
		})
		l.done = count(t, c, n)
	})
	return l
}

func count(t *testing.T, c *client, n int) (d done) {
	nodes, err := c.Clientset.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		for _, condition := range nodes.Items[i].Status.Conditions {
			if condition.Type == v1.NodeReady && condition.Status == v1.ConditionUnknown {
				d.unknown++
			}
		}
		for _, taint := range nodes.Items[i].Spec.Taints {
			if taint.Effect == v1.TaintEffectNoExecute {
				d.tainted++
				break
			}
		}
	}
	pods, err := c.Clientset.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.evicted = n*podsPerNode - len(pods.Items)
	for i := range pods.Items {
		for _, condition := range pods.Items[i].Status.Conditions {
			if condition.Type == v1.PodReady && condition.Status == v1.ConditionFalse {
				d.notReady++
			}
		}
	}
	return d
}
