package tainteviction

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/testutil"
)

// outage taints the pod's node, lets hours pass, with meanwhile in them, and returns whether the pod is still there.
func outage(t *testing.T, pod *corev1.Pod, meanwhile func(*fake.Clientset)) (found error) {
	synctest.Test(t, func(t *testing.T) {
		ctx, client := t.Context(), fake.NewClientset(pod)
		tc, _, nodes := setupNewController(ctx, client)
		tc.recorder = nil
		if err := nodes.Add(addTaintsToNode(testutil.NewNode("node1"), "", "", []int{1})); err != nil {
			t.Fatal(err)
		}
		tc.handleNodeUpdate(ctx, nodeUpdateItem{"node1"})
		meanwhile(client)
		for range 100 {
			if _, err := tc.taintEvictionQueue.Step(ctx); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		_, found = client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	})
	return found
}

// An eviction is never given up, however often it fails.
func TestOursTriesAgain(t *testing.T) {
	tries := 0
	if found := outage(t, testutil.NewPod("pod1", "node1"), func(client *fake.Clientset) {
		client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			tries++
			return tries < 50, nil, errors.New("not now")
		})
	}); !apierrors.IsNotFound(found) || tries != 50 {
		t.Errorf("%v after %d tries", found, tries)
	}
}

// A new pod with the name of a pod that was to be evicted is not evicted in its place.
func TestOursSparesASuccessor(t *testing.T) {
	pod := addToleration(testutil.NewPod("pod1", "node1"), 1, 300)
	pod.UID = "first"
	if found := outage(t, pod, func(client *fake.Clientset) {
		successor := pod.DeepCopy()
		successor.UID, successor.Spec.NodeName = "second", "node2"
		if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), successor, successor.Namespace); err != nil {
			t.Fatal(err)
		}
	}); found != nil {
		t.Error(found)
	}
	if found := outage(t, pod, func(*fake.Clientset) {}); !apierrors.IsNotFound(found) {
		t.Errorf("without a successor: %v", found)
	}
}
