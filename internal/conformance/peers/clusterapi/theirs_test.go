package clusterapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinehealthcheck"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	namespace   = "default"
	clusterName = "cluster"
	finalizer   = "evictkit.dev/test"
)

// quiet is a manager that is never started and whose events are not recorded.
type quiet struct{ manager.Manager }

func (quiet) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// known are the types in the API. With more of them, the fake client would make a new map at each write.
func known(t *testing.T) *runtime.Scheme {
	s := runtime.NewScheme()
	require.NoError(t, clusterv1.AddToScheme(s))
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Node{}, &corev1.NodeList{})
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	return s
}

// newReconciler makes Cluster API's reconciler, without a client yet.
func newReconciler(t *testing.T) *machinehealthcheck.Reconciler {
	ctrl.SetLogger(logr.Discard())
	c := fake.NewClientBuilder().WithScheme(known(t)).Build()
	m, err := manager.New(&rest.Config{}, manager.Options{
		Scheme:         c.Scheme(),
		Metrics:        server.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return c.RESTMapper(), nil },
		Controller:     config.Controller{SkipNameValidation: ptr.To(true)},
	})
	require.NoError(t, err)
	r := &machinehealthcheck.Reconciler{Client: c, ClusterCache: clustercache.NewFakeClusterCache(c, client.ObjectKey{})}
	require.NoError(t, r.SetupWithManager(ctrl.LoggerInto(context.Background(), logr.Discard()), quiet{m}, controller.Options{}))
	return r
}

// theirs is the reconciler on an API server that is a map. The managed cluster is the same map.
type theirs struct {
	t          *testing.T
	client     client.Client
	reconciler *machinehealthcheck.Reconciler
}

func newTheirs(t *testing.T, r *machinehealthcheck.Reconciler, check *clusterv1.MachineHealthCheck) *theirs {
	isTrue := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Is", LastTransitionTime: metav1.NewTime(time.Now().Add(-24 * time.Hour))}
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName}}
	conditions.Set(cluster, isTrue(clusterv1.ClusterInfrastructureReadyCondition))
	conditions.Set(cluster, isTrue(clusterv1.ClusterControlPlaneInitializedCondition))
	conditions.Set(check, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason})
	r.Client = fake.NewClientBuilder().WithScheme(r.Client.Scheme()).WithObjects(cluster, check).
		WithStatusSubresource(&clusterv1.MachineHealthCheck{}, &clusterv1.Machine{}).Build()
	r.ClusterCache = clustercache.NewFakeClusterCache(r.Client, client.ObjectKeyFromObject(cluster), "machinehealthcheck-watchClusterNodes")
	return &theirs{t, r.Client, r}
}

// write writes the machine and its node to the API.
func (c *theirs) write(m *machine) {
	var known clusterv1.Machine
	switch err := c.client.Get(context.Background(), client.ObjectKeyFromObject(m.Machine), &known); {
	case err != nil:
		require.NoError(c.t, client.IgnoreNotFound(err))
		require.NoError(c.t, c.client.Create(context.Background(), m.DeepCopy()))
	default:
		known.Labels, known.Annotations = m.Labels, m.Annotations
		require.NoError(c.t, c.client.Update(context.Background(), &known))
		known.Status.NodeRef = m.Status.NodeRef
		for _, condition := range m.Status.Conditions {
			conditions.Set(&known, condition)
		}
		require.NoError(c.t, c.client.Status().Update(context.Background(), &known))
	}
	if m.deleting && known.DeletionTimestamp.IsZero() {
		require.NoError(c.t, c.client.Delete(context.Background(), m.DeepCopy()))
	}
	if !m.Status.NodeRef.IsDefined() {
		return
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name}}
	err := c.client.Get(context.Background(), client.ObjectKeyFromObject(node), node)
	node.Status.Conditions = m.node
	switch {
	case m.node == nil:
		require.NoError(c.t, client.IgnoreNotFound(c.client.Delete(context.Background(), node)))
	case err != nil:
		require.NoError(c.t, c.client.Create(context.Background(), node))
	default:
		require.NoError(c.t, c.client.Status().Update(context.Background(), node))
	}
}

// leave deletes both.
func (c *theirs) leave(m *machine) {
	require.NoError(c.t, client.IgnoreNotFound(c.client.Delete(context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name}})))
	known := c.machine(m)
	known.Finalizers = nil
	require.NoError(c.t, c.client.Update(context.Background(), known))
	require.NoError(c.t, client.IgnoreNotFound(c.client.Delete(context.Background(), known)))
}

func (c *theirs) machine(m *machine) *clusterv1.Machine {
	var known clusterv1.Machine
	require.NoError(c.t, c.client.Get(context.Background(), client.ObjectKeyFromObject(m.Machine), &known))
	return &known
}

// waits says whether the machine waits for its owner to remediate it.
func (c *theirs) waits(m *machine) bool {
	return conditions.IsFalse(c.machine(m), clusterv1.MachineOwnerRemediatedCondition)
}

// remediated says that the owner has remediated the machine.
func (c *theirs) remediated(m *machine) {
	known := c.machine(m)
	conditions.Set(known, metav1.Condition{Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionTrue, Reason: "Done"})
	require.NoError(c.t, c.client.Status().Update(context.Background(), known))
}

// reconcile returns when to look again, and the state of the check.
func (c *theirs) reconcile(check *clusterv1.MachineHealthCheck) (again time.Duration, now clusterv1.MachineHealthCheck) {
	result, err := c.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(check)})
	require.NoError(c.t, err)
	require.NoError(c.t, c.client.Get(context.Background(), client.ObjectKeyFromObject(check), &now))
	return result.RequeueAfter, now
}
