package plugin

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	schedruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/evictkit/evictkit/examples/schedulerplugin"
)

// The scheduler listens for a signal. At the first signal.Notify of a process, package signal makes a channel of its own,
// which must not belong to a synctest bubble.
func init() { signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2) }

// weight makes half of the plugin's score outweigh the scores of the scheduler's resource plugins, which are at most 100
// each.
const weight = 10

// profile returns the scheduler's default profile without TaintToleration, with or without the plugin in its place.
func profile(t *testing.T, with bool) config.KubeSchedulerProfile {
	whole, err := latest.Default()
	require.NoError(t, err)
	p := whole.Profiles[0]
	theirs := config.Plugin{Name: tainttoleration.Name}
	p.Plugins.Filter.Disabled = append(p.Plugins.Filter.Disabled, theirs)
	p.Plugins.Score.Disabled = append(p.Plugins.Score.Disabled, theirs)
	if with {
		p.Plugins.Filter.Enabled = append(p.Plugins.Filter.Enabled, config.Plugin{Name: schedulerplugin.Name})
		p.Plugins.Score.Enabled = append(p.Plugins.Score.Enabled, config.Plugin{Name: schedulerplugin.Name, Weight: weight})
	}
	return p
}

// cluster is the fake API server.
type cluster struct {
	*testing.T
	client *fake.Clientset
}

// scheduled runs a test in a synctest bubble together with the scheduler.
func scheduled(t *testing.T, with bool, test func(c cluster), nodes ...*v1.Node) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{t, fake.NewClientset()}
		c.client.PrependReactor("create", "pods", c.bind)
		for _, n := range nodes {
			c.add(n)
		}
		ctx := klog.NewContext(t.Context(), klog.NewKlogr().V(99)) // silences the scheduler's log
		factory := scheduler.NewInformerFactory(c.client, 0, nil)
		s, err := scheduler.New(ctx, c.client, factory, nil,
			func(string) events.EventRecorderLogger { return events.NewFakeRecorder(1000) },
			scheduler.WithProfiles(profile(t, with)),
			scheduler.WithFrameworkOutOfTreeRegistry(schedruntime.Registry{schedulerplugin.Name: schedulerplugin.New}))
		require.NoError(t, err)
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		require.NoError(t, s.WaitForHandlersSync(ctx))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Run(ctx)
		}()
		t.Cleanup(func() {
			<-ended
			factory.Shutdown()
			time.Sleep(time.Second) // the scheduler's metrics recorder notices the end within a second
		})
		test(c)
	})
}

// bind does what the API server does with a binding.
func (c cluster) bind(action clienttesting.Action) (bool, runtime.Object, error) {
	create, ok := action.(clienttesting.CreateAction)
	if !ok || action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding := create.GetObject().(*v1.Binding)
	pods := v1.SchemeGroupVersion.WithResource("pods")
	held, err := c.client.Tracker().Get(pods, binding.Namespace, binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod := held.(*v1.Pod).DeepCopy()
	pod.Spec.NodeName = binding.Target.Name
	return true, binding, c.client.Tracker().Update(pods, pod, binding.Namespace)
}

func (c cluster) add(object runtime.Object) {
	c.Helper()
	require.NoError(c, c.client.Tracker().Add(object))
}

// place creates a pod and returns the node that the scheduler binds it to; "" if there is none.
func (c cluster) place(p *v1.Pod) string {
	c.Helper()
	_, err := c.client.CoreV1().Pods(p.Namespace).Create(c.Context(), p, metav1.CreateOptions{})
	require.NoError(c, err)
	return c.pod(p.Name).Spec.NodeName
}

// pod returns a pod from the API once nothing more happens at this instant.
func (c cluster) pod(name string) *v1.Pod {
	c.Helper()
	synctest.Wait()
	p, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Get(c.Context(), name, metav1.GetOptions{})
	require.NoError(c, err)
	return p
}

func (c cluster) update(n *v1.Node) {
	c.Helper()
	_, err := c.client.CoreV1().Nodes().Update(c.Context(), n, metav1.UpdateOptions{})
	require.NoError(c, err)
	synctest.Wait()
}

// retried waits until a pod that no node let in has been tried again: the longest time that the queue keeps a pod after an
// event.
func (cluster) retried() { time.Sleep(time.Minute) }

// node has room for 8 CPUs; its zone is the first letter of its name.
func node(name string, ready v1.ConditionStatus, taints ...v1.Taint) *v1.Node {
	room := v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("110")}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: name[:1], v1.LabelHostname: name}},
		Spec:       v1.NodeSpec{Taints: taints},
		Status:     v1.NodeStatus{Allocatable: room, Capacity: room, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}}},
	}
}

func pod(name string, cpus string, tolerations ...v1.Toleration) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(name)},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName, Tolerations: tolerations,
			Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus)}}}},
		},
	}
}
