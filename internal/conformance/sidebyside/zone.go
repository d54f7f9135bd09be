package main

import (
	"context"
	"fmt"
	"runtime"
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
	none, a, b := lose(s, n, newNobody), lose(s, n, newOurs), lose(s, n, newUpstream)
	if a.tainted == 0 || a.evicted == 0 {
		s.Errorf("a zone of %d nodes was lost and nothing happened", n)
	}
	work := fmt.Sprintf("zone lost: 3 virtual minutes (%s of CPU for the heartbeats alone)", short(float64(none.cpu)))
	return []row{{work, n, a.measured(), b.measured()}}
}

// loss is what a lost zone costs and comes to.
type loss struct {
	cpu, wall        time.Duration
	tainted, evicted int
}

func (l loss) measured() measured {
	return measured{float64(l.cpu), fmt.Sprintf("%s of CPU, %s of time; %d nodes tainted, %d pods evicted", short(float64(l.cpu)), short(float64(l.wall)), l.tainted, l.evicted)}
}

// lose plays the loss of zone a and keeps the run with the least CPU time.
func lose(s setting, n int, b build) (least loss) {
	for run := range s.runs {
		synctest.Test(s.T, func(t *testing.T) {
			if l := loseOnce(t, n, b); run == 0 || l.cpu < least.cpu {
				least = l
			}
		})
	}
	return least
}

func loseOnce(t *testing.T, n int, b build) (l loss) {
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
		fleet:  f,
		leases: scene.factory.Coordination().V1().Leases().Informer().GetIndexer(),
		told:   scene.side.leaseRenewed,
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
	runtime.GC()
	lost = true
	began, from := cpu(), wall()
	scene.pass(k, outage)
	synctest.Wait()
	l.cpu, l.wall = cpu()-began, wall()-from
	l.tainted, l.evicted = count(t, c, n)
	return l
}

// count is how many nodes carry a NoExecute taint and how many pods are gone.
func count(t *testing.T, c *client, n int) (tainted, evicted int) {
	nodes, err := c.Clientset.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		for _, taint := range nodes.Items[i].Spec.Taints {
			if taint.Effect == v1.TaintEffectNoExecute {
				tainted++
				break
			}
		}
	}
	pods, err := c.Clientset.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tainted, n*podsPerNode - len(pods.Items)
}
