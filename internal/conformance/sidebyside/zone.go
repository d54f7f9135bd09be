package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// outage is how long a lost zone is observed.
const outage = 3 * time.Minute

func zoneRows(s setting, n int) []row {
	var a, b loss
	r := row{n: n}
	r.ours, r.upstream = pair(s.scenes(n), func() cost { a = lose(s, n, newOurs); return a.cost },
		func() cost { b = lose(s, n, newUpstream); return b.cost })
	if a.tainted == 0 || a.evicted == 0 || a.unknown != b.unknown || a.notReady+a.evicted != b.notReady+b.evicted || !similar(a.tainted, b.tainted) || !similar(a.evicted, b.evicted) {
		s.Errorf("a zone of %d nodes was lost: ours came to %+v, upstream to %+v", n/zones, a.done, b.done)
	}
	alone := lose(s, n, newNobody).cpu
	r.work = fmt.Sprintf("zone lost: %d nodes Unknown, %d : %d tainted, %d : %d pods evicted; heartbeats alone take %s",
		a.unknown, a.tainted, b.tainted, a.evicted, b.evicted, duration(alone))
	return []row{r}
}

// similar allows for the tokens that upstream loses where its ticks meet its passes.
func similar(ours, upstream int) bool { return upstream <= ours && ours-upstream <= ours/10 }

// loss is the cost of a lost zone, and its outcome.
type loss struct {
	cost
	done
}

// done counts the outcome of a lost zone.
type done struct{ unknown, tainted, notReady, evicted int }

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
		scene.pass(k, time.Minute-tick) // until a pass comes
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
		node := &nodes.Items[i]
		if slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionUnknown }) {
			d.unknown++
		}
		if slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Effect == v1.TaintEffectNoExecute }) {
			d.tainted++
		}
	}
	pods, err := c.Clientset.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.evicted = n*podsPerNode - len(pods.Items)
	for i := range pods.Items {
		if slices.ContainsFunc(pods.Items[i].Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionFalse }) {
			d.notReady++
		}
	}
	return d
}
