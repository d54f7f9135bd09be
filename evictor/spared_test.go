package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

func TestCompletedPodsStay(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(3))
	c.Start(config())
	c.Phase("a-0-p0", v1.PodSucceeded)
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	c.Phase("a-0-p1", v1.PodFailed)
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"a-0-p2"}, c.Evicted())
	require.Len(t, says(c, `"podNotReady"`), 2)
}

func TestMirrorPodsStay(t *testing.T) {
	for _, taints := range []bool{true, false} {
		c := evictortest.New(t, evictortest.Zone("a", 2))
		for _, name := range []string{"static", "odd", "daemon", "plain"} {
			pod := &v1.Pod{}
			pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Status.Phase = "default", name, "a-0", v1.PodRunning
			switch name {
			case "static":
				pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash"}
			case "odd": // the kubelet ignores the value
				pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: ""}
			case "daemon":
				yes := true
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &yes}}
				pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
			}
			c.AddPodObject(pod)
		}
		cfg := config()
		cfg.TaintBasedEviction = taints
		c.Start(cfg)
		c.Fail("a-0")
		c.Advance(20 * time.Minute)
		require.Equal(t, []string{"plain"}, c.Evicted())
	}
}

// A pod that stays on a failed node is reported once per outage.
func TestSparedPodsAreToldOfOnceInAnOutage(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Phase("a-0-p0", v1.PodSucceeded)
	spared := 0
	e := c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Kind == evictor.PodSpared {
			spared++
		}
	})})
	for outage := range 2 {
		c.Fail("a-0")
		for range 10 {
			c.Advance(time.Minute)
			e.NodeChanged("a-0")
		}
		require.Equal(t, outage+1, spared)
		c.Recover("a-0")
		c.Advance(time.Minute)
	}
}

// Emptying a node takes time, during which its pods go on: each is read again before it is evicted.
func TestPodThatCompletesWhileItsNodeIsEmptiedStays(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(3))
	c.Start(cfg)
	c.FailWrites(func(write, object string) error {
		if object == "default/a-0-p0" && write == "evict" {
			c.Phase("a-0-p1", v1.PodSucceeded)
			c.DeletePod("a-0-p2")
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}
