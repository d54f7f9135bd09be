// Package tainteviction has the names of upstream's taint eviction controller that its tests use, on evictkit's own
// tainteviction and clientgo: what the tests feed goes into the fake clientset's tracker, and evictkit sees it by its watches.
package tainteviction

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
)

type (
	GetPodsByNodeNameFunc func(string) ([]*v1.Pod, error)
	nodeUpdateItem        struct{ nodeName string }
	queue                 struct{ of *tainteviction.Controller }
)

type Controller struct {
	client                *fake.Clientset
	is                    *tainteviction.Controller
	nodes                 cache.Indexer
	recorder              record.EventRecorder
	podListerSynced       cache.InformerSynced
	nodeListerSynced      cache.InformerSynced
	getPodsAssignedToNode GetPodsByNodeNameFunc
	taintEvictionQueue    queue
	taintedNodesLock      sync.Mutex
	taintedNodes          map[string][]v1.Taint
}

func New(ctx context.Context, client *fake.Clientset, _ coreinformers.PodInformer, nodes coreinformers.NodeInformer, _ string) (*Controller, error) {
	cluster, err := clientgo.New(client, clientgo.Options{Half: clientgo.TaintEviction})
	if err != nil {
		return nil, err
	}
	is, err := tainteviction.New(tainteviction.DefaultConfig(), cluster.TaintEviction(), tainteviction.Options{})
	go func() { _ = cluster.Run(ctx) }() // it sees the cluster before Run, as upstream's informers here
	for err == nil && !cluster.Synced() {
		time.Sleep(time.Millisecond)
	}
	return &Controller{client: client, is: is, taintEvictionQueue: queue{is}, nodes: nodes.Informer().GetIndexer()}, err
}

func (c *Controller) Run(ctx context.Context) {
	for name, taints := range c.taintedNodes {
		c.put("nodes", "", &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{Taints: taints}})
	}
	_ = c.is.Run(ctx)
}

func (c *Controller) put(resource, namespace string, obj runtime.Object) {
	gvr := v1.SchemeGroupVersion.WithResource(resource)
	if c.client.Tracker().Create(gvr, obj, namespace) != nil {
		_ = c.client.Tracker().Update(gvr, obj, namespace)
	}
}

func (c *Controller) PodUpdated(old, now *v1.Pod) {
	if now == nil {
		_ = c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), old.Namespace, old.Name)
		return
	}
	c.put("pods", now.Namespace, now)
}

func (c *Controller) NodeUpdated(old, now *v1.Node) {
	if now != nil {
		c.put("nodes", "", now)
		return
	}
	_ = c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("nodes"), "", old.Name)
	c.taintedNodesLock.Lock()
	defer c.taintedNodesLock.Unlock()
	delete(c.taintedNodes, old.Name)
}

func (c *Controller) handleNodeUpdate(_ context.Context, item nodeUpdateItem) {
	obj, _, _ := c.nodes.GetByKey(item.nodeName)
	c.put("nodes", "", obj.(*v1.Node).DeepCopy())
	time.Sleep(300 * time.Millisecond)
}

func (q queue) GetWorkerUnsafe(key string) *struct{} {
	for _, e := range q.of.Evictions() {
		if e.Pod.Namespace+"/"+e.Pod.Name == key {
			return &struct{}{}
		}
	}
	return nil
}

func getNoExecuteTaints(all []v1.Taint) (some []v1.Taint) {
	for _, t := range all {
		if !taints.Tolerate([]v1.Taint{t}, nil, false).Forever {
			some = append(some, t)
		}
	}
	return some
}

func getMinTolerationTime(used []v1.Toleration) time.Duration {
	have := []v1.Taint{}
	for i := range used { // those that match, each one taint
		used[i].Key, used[i].Operator = fmt.Sprint(i), v1.TolerationOpExists
		have = append(have, v1.Taint{Key: fmt.Sprint(i), Effect: v1.TaintEffectNoExecute})
	}
	if len(used) == 0 {
		have = append(have, v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	}
	if stay := taints.Tolerate(have, used, false); !stay.Forever {
		return stay.For
	}
	return -1
}
