package controllermanager

import (
	"cmp"
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/podgc"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

// controllers makes each of upstream's controllers as kube-controller-manager does, and returns what runs it.
var controllers = map[string]func(ctx context.Context, client *fake.Clientset, in informers.SharedInformerFactory) (run func(), err error){
	"podgc": func(ctx context.Context, client *fake.Clientset, in informers.SharedInformerFactory) (func(), error) {
		c := podgc.NewPodGC(ctx, client, slowPods{in.Core().V1().Pods()}, in.Core().V1().Nodes(), 12500)
		return func() { c.Run(ctx) }, nil
	},
	"replicaset": func(ctx context.Context, client *fake.Clientset, in informers.SharedInformerFactory) (func(), error) {
		c := replicaset.NewReplicaSetController(ctx, in.Apps().V1().ReplicaSets(), in.Core().V1().Pods(), client, replicaset.BurstReplicas)
		return func() { c.Run(ctx, 1) }, nil
	},
	"statefulset": func(ctx context.Context, client *fake.Clientset, in informers.SharedInformerFactory) (func(), error) {
		core, apps := in.Core().V1(), in.Apps().V1()
		c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), client)
		return func() { c.Run(ctx, 1) }, nil
	},
	"job": func(ctx context.Context, client *fake.Clientset, in informers.SharedInformerFactory) (func(), error) {
		c, err := job.NewController(ctx, client, in.Core().V1().Pods(), in.Batch().V1().Jobs(), nil, nil)
		return func() { c.Run(ctx, 1) }, err
	},
	"disruption": func(ctx context.Context, client *fake.Clientset, in informers.SharedInformerFactory) (func(), error) {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(batchv1.SchemeGroupVersion.WithKind("Job"), meta.RESTScopeNamespace)
		scales := &scalefake.FakeScaleClient{}
		scales.AddReactor("*", "*", noScale)
		core, apps := in.Core().V1(), in.Apps().V1()
		c := disruption.NewDisruptionController(ctx, core.Pods(), in.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
			apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), client, mapper, scales, client.Discovery())
		return func() { c.Run(ctx, 1) }, nil
	},
}

// slowPods makes a pass of PodGC take a moment, as it does anywhere. A node is missed for two of its periods to the instant; if
// a pass took no time at all, it would be open whether that ends before the third pass or after it. And it removes pods in the
// order of their nodes and names; any order is possible.
type slowPods struct{ coreinformers.PodInformer }

type slowLister struct{ corelisters.PodLister }

func (s slowPods) Lister() corelisters.PodLister { return slowLister{s.PodInformer.Lister()} }

func (s slowLister) List(selector labels.Selector) ([]*v1.Pod, error) {
	sleep(10 * time.Microsecond)
	pods, err := s.PodLister.List(selector)
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Spec.NodeName, b.Spec.NodeName), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods, err
}

// noScale is the answer of an API server about Jobs, which have no scale.
func noScale(a clienttesting.Action) (bool, runtime.Object, error) {
	return true, nil, apierrors.NewNotFound(a.GetResource().GroupResource(), "scale")
}
