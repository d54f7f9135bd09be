package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// View is the cluster as watches show it, and what tests wait on. It is safe for concurrent use.
type View struct {
	mu      sync.Mutex // guards what follows
	nodes   map[string]*v1.Node
	pods    map[string]*v1.Pod // of namespace default
	changed chan struct{}      // closed at the next change
	// When something was first seen.
	unknown, tainted map[string]time.Time // by node, since it was last healthy
	evicted          map[types.UID]time.Time
	heard            []func(*v1.Pod)
}

// WatchCluster starts to watch nodes and the pods of a namespace, or of all, until ctx ends. It returns once everything is listed.
func WatchCluster(ctx context.Context, client kubernetes.Interface, namespace string) (*View, error) {
	v := &View{
		nodes: map[string]*v1.Node{}, pods: map[string]*v1.Pod{}, changed: make(chan struct{}),
		unknown: map[string]time.Time{}, tainted: map[string]time.Time{}, evicted: map[types.UID]time.Time{},
	}
	nodes, pods := client.CoreV1().Nodes(), client.CoreV1().Pods(namespace)
	synced := []cache.InformerSynced{
		v.watch(ctx, &v1.Node{}, cache.ListWatch{
			ListWithContextFunc:  persistent(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) }),
			WatchFuncWithContext: persistent(nodes.Watch),
		}),
		v.watch(ctx, &v1.Pod{}, cache.ListWatch{
			ListWithContextFunc:  persistent(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) }),
			WatchFuncWithContext: persistent(pods.Watch),
		}),
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, ctx.Err()
	}
	return v, nil
}

// persistent retries while nobody listens. Otherwise the informer would, less and less often.
func persistent[T any](try func(context.Context, metav1.ListOptions) (T, error)) func(context.Context, metav1.ListOptions) (T, error) {
	return func(ctx context.Context, o metav1.ListOptions) (T, error) {
		for {
			result, err := try(ctx, o)
			if !utilnet.IsConnectionRefused(err) {
				return result, err
			}
			wait := time.NewTimer(time.Second / 4)
			select {
			case <-ctx.Done():
				wait.Stop()
				return result, err
			case <-wait.C:
			}
		}
	}
}

func (v *View) watch(ctx context.Context, kind runtime.Object, lw cache.ListWatch) cache.InformerSynced {
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &lw, ObjectType: kind,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { v.see(object, false) },
			UpdateFunc: func(_, object any) { v.see(object, false) },
			DeleteFunc: func(object any) {
				if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
					object = last.Obj
				}
				v.see(object, true)
			},
		},
	})
	go controller.RunWithContext(ctx)
	return controller.HasSynced
}

// see processes one event.
func (v *View) see(object any, gone bool) {
	now := time.Now()
	v.mu.Lock()
	var heard []func(*v1.Pod)
	pod, isPod := object.(*v1.Pod)
	if node, ok := object.(*v1.Node); ok {
		v.seeNode(node, gone, now)
	} else if isPod {
		v.seePod(pod, gone, now)
		heard = v.heard
	}
	close(v.changed)
	v.changed = make(chan struct{})
	v.mu.Unlock()
	if !gone {
		for _, hear := range heard {
			hear(pod)
		}
	}
}

func (v *View) seeNode(node *v1.Node, gone bool, now time.Time) {
	if gone {
		delete(v.nodes, node.Name)
		return
	}
	v.nodes[node.Name] = node
	note(v.unknown, node.Name, ReadyOf(node) == v1.ConditionUnknown, now)
	note(v.tainted, node.Name, HasNoExecute(node), now)
}

// note records since when something is so.
func note(since map[string]time.Time, name string, is bool, now time.Time) {
	if _, was := since[name]; !is {
		delete(since, name)
	} else if !was {
		since[name] = now
	}
}

func (v *View) seePod(pod *v1.Pod, gone bool, now time.Time) {
	if _, was := v.evicted[pod.UID]; !was && (gone || pod.DeletionTimestamp != nil) {
		v.evicted[pod.UID] = now
	}
	if !gone {
		v.pods[pod.Name] = pod
	} else if v.pods[pod.Name] != nil && v.pods[pod.Name].UID == pod.UID {
		delete(v.pods, pod.Name)
	}
}

// HearPods calls hear for all existing pods, and for every pod that is added or changes from now on.
func (v *View) HearPods(hear func(*v1.Pod)) {
	v.mu.Lock()
	v.heard = append(v.heard, hear)
	var pods []*v1.Pod
	for _, pod := range v.pods {
		pods = append(pods, pod)
	}
	v.mu.Unlock()
	for _, pod := range pods {
		hear(pod)
	}
}

// Wait returns once the condition holds. It is checked at every change. The error of a timeout has what the condition
// last said is missing.
func (v *View) Wait(ctx context.Context, timeout time.Duration, holds func(*Now) (missing string)) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		v.mu.Lock()
		missing := holds((*Now)(v))
		changed := v.changed
		v.mu.Unlock()
		if missing == "" {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return fmt.Errorf("after %s: %s", timeout, missing)
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), missing)
		}
	}
}

// Hold returns once the condition has held all that time, and fails if it does not.
func (v *View) Hold(ctx context.Context, d time.Duration, holds func(*Now) (wrong string)) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		v.mu.Lock()
		wrong := holds((*Now)(v))
		changed := v.changed
		v.mu.Unlock()
		if wrong != "" {
			return fmt.Errorf("%s", wrong)
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Look calls look once.
func (v *View) Look(look func(*Now)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	look((*Now)(v))
}

// Now is a View that does not change while a condition looks at it.
type Now View

// Node returns the node of that name, nil if there is none. It must not be changed.
func (n *Now) Node(name string) *v1.Node { return n.nodes[name] }

// Pod returns the pod of that name, nil if there is none. It must not be changed.
func (n *Now) Pod(name string) *v1.Pod { return n.pods[name] }

// Evicted returns when the pod was first seen being deleted.
func (n *Now) Evicted(uid types.UID) (time.Time, bool) { at, ok := n.evicted[uid]; return at, ok }

// Unknown returns since when the node is Unknown.
func (n *Now) Unknown(node string) (time.Time, bool) { at, ok := n.unknown[node]; return at, ok }

// Tainted returns since when the node has a NoExecute taint for not being ready.
func (n *Now) Tainted(node string) (time.Time, bool) { at, ok := n.tainted[node]; return at, ok }

// ReadyOf returns the status of the node's Ready condition, empty if it has none.
func ReadyOf(node *v1.Node) v1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// HasNoExecute says whether the node has a NoExecute taint for not being ready.
func HasNoExecute(node *v1.Node) bool {
	for _, t := range node.Spec.Taints {
		if t.Effect == v1.TaintEffectNoExecute && (t.Key == v1.TaintNodeNotReady || t.Key == v1.TaintNodeUnreachable) {
			return true
		}
	}
	return false
}
