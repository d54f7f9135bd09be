package karpenter

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/apis"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	kfake "sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/node/legacyrepair"
	"sigs.k8s.io/karpenter/pkg/test"
)

// theirs is Karpenter's controller on an API server that is a map.
type theirs struct {
	t          *testing.T
	client     client.Client
	controller *legacyrepair.Controller
}

// known are the types in the API. With more of them, the fake client would make a new map at each write.
var known = func() *runtime.Scheme {
	log.SetLogger(logr.Discard())
	s := runtime.NewScheme()
	group := schema.GroupVersion{Group: apis.Group, Version: "v1"}
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Node{}, &corev1.NodeList{}, &corev1.Pod{}, &corev1.PodList{})
	s.AddKnownTypes(group, &v1.NodePool{}, &v1.NodePoolList{}, &v1.NodeClaim{}, &v1.NodeClaimList{})
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	metav1.AddToGroupVersion(s, group)
	return s
}()

func newTheirs(t *testing.T, policies []cloudprovider.RepairPolicy, clock clock.Clock) *theirs {
	provider := kfake.NewCloudProvider()
	provider.Reset()
	provider.RepairPolicy = policies
	c := fake.NewClientBuilder().WithScheme(known).
		WithIndex(&v1.NodeClaim{}, "status.providerID", func(o client.Object) []string {
			return []string{o.(*v1.NodeClaim).Status.ProviderID}
		}).
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string {
			return []string{o.(*corev1.Node).Spec.ProviderID}
		}).Build()
	return &theirs{t, c, legacyrepair.NewController(c, provider, clock, test.NewEventRecorder())}
}

// come adds a machine to the API: its node and, unless somebody else owns it, its claim.
func (k *theirs) come(m *machine) {
	require.NoError(k.t, k.client.Create(context.Background(), m.node.DeepCopy()))
	if m.claim != nil {
		require.NoError(k.t, k.client.Create(context.Background(), m.claim.DeepCopy()))
	}
}

// report writes the conditions of a machine's node.
func (k *theirs) report(m *machine) {
	node := k.node(m)
	node.Status.Conditions = m.node.Status.Conditions
	require.NoError(k.t, k.client.Status().Update(context.Background(), node))
}

// leave removes a machine. It removes the claim's finalizer, as the termination controller does in the end.
func (k *theirs) leave(m *machine) {
	require.NoError(k.t, k.client.Delete(context.Background(), k.node(m)))
	if m.claim == nil {
		return
	}
	claim := k.claim(m)
	claim.Finalizers = nil
	require.NoError(k.t, k.client.Update(context.Background(), claim))
	require.NoError(k.t, client.IgnoreNotFound(k.client.Delete(context.Background(), claim)))
}

// answer is what the controller does with a machine: whether it repairs the machine since then, and when to look again.
type answer struct {
	repaired bool
	again    time.Duration
}

// reconcile makes the controller look at all nodes. What it does to one node does not affect the others.
func (k *theirs) reconcile(machines []*machine) []answer {
	var nodes corev1.NodeList
	require.NoError(k.t, k.client.List(context.Background(), &nodes))
	of := map[string]*corev1.Node{}
	for i := range nodes.Items {
		of[nodes.Items[i].Name] = &nodes.Items[i]
	}
	was, answers := k.deleting(), make([]answer, len(machines))
	for i, m := range machines {
		result, err := k.controller.Reconcile(context.Background(), of[m.node.Name])
		require.NoError(k.t, err)
		answers[i].again = result.RequeueAfter
	}
	is := k.deleting()
	for i, m := range machines {
		answers[i].repaired = is[m.node.Name] && !was[m.node.Name]
	}
	return answers
}

// deleting returns the names of the claims that are being deleted, which are also those of their nodes.
func (k *theirs) deleting() map[string]bool {
	var claims v1.NodeClaimList
	require.NoError(k.t, k.client.List(context.Background(), &claims))
	names := map[string]bool{}
	for i := range claims.Items {
		names[claims.Items[i].Name] = !claims.Items[i].DeletionTimestamp.IsZero()
	}
	return names
}

func (k *theirs) node(m *machine) *corev1.Node {
	var node corev1.Node
	require.NoError(k.t, k.client.Get(context.Background(), client.ObjectKeyFromObject(m.node), &node))
	return &node
}

func (k *theirs) claim(m *machine) *v1.NodeClaim {
	var claim v1.NodeClaim
	require.NoError(k.t, k.client.Get(context.Background(), client.ObjectKeyFromObject(m.claim), &claim))
	return &claim
}
