package controlplane

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// FleetConfig says how many nodes there are, and what their kubelets do.
type FleetConfig struct {
	// Zones are named zone-0, zone-1, …, with so many nodes each, named <zone>-node-0, …
	Zones, NodesPerZone int
	// PodsPerNode are of namespace default, named <node>-pod-0, …; they tolerate unready nodes for Toleration.
	PodsPerNode int
	Toleration  time.Duration
	// Renewal is the period of leases, Report that of node statuses. The kubelets' turns are spread over it.
	Renewal, Report time.Duration
	// PastAPIServer puts new pods, as if they ran already, and renewals straight into etcd: it costs a fifth of the CPU, and
	// who reads from the API server sees no difference.
	PastAPIServer bool
	store         *store // not nil then
}

// Fleet are the nodes of a cluster, and their kubelets.
type Fleet struct {
	Config FleetConfig
	// Renewals counts the leases that were renewed.
	Renewals atomic.Int64

	client kubernetes.Interface
	view   *View

	ctx     context.Context // of all kubelets
	mu      sync.Mutex      // guards what follows
	kubelet map[string]*kubelet
}

// writers is how many requests a fleet has under way when it does something to all of its nodes or pods.
const writers = 32

// StartFleet registers nodes and pods, and starts the kubelets, which run until ctx ends. It returns when the API
// server shows all of them, with every pod ready.
func StartFleet(ctx context.Context, client kubernetes.Interface, view *View, config FleetConfig) (*Fleet, error) {
	f := &Fleet{Config: config, client: client, view: view, ctx: ctx, kubelet: map[string]*kubelet{}}
	for z := range config.Zones {
		for i := range config.NodesPerZone {
			k := &kubelet{fleet: f, zone: fmt.Sprint("zone-", z), name: fmt.Sprintf("zone-%d-node-%d", z, i), todo: map[string]*v1.Pod{}, due: make(chan struct{}, 1)}
			f.kubelet[k.name] = k
		}
	}
	view.HearPods(f.hear)
	if err := each(f.Nodes(), func(name string) error { return f.kubelet[name].register(ctx) }); err != nil {
		return nil, err
	}
	f.Start(f.Nodes()...)
	return f, f.FillPods(ctx)
}

// Nodes are the names of all nodes.
func (f *Fleet) Nodes() (names []string) {
	for z := range f.Config.Zones {
		names = append(names, f.Zone(z)...)
	}
	return names
}

// Zone are the names of the nodes of one zone.
func (f *Fleet) Zone(z int) (names []string) {
	for i := range f.Config.NodesPerZone {
		names = append(names, fmt.Sprintf("zone-%d-node-%d", z, i))
	}
	return names
}

// Pods are the names of the pods of a node.
func (f *Fleet) Pods(node string) (names []string) {
	for i := range f.Config.PodsPerNode {
		names = append(names, fmt.Sprintf("%s-pod-%d", node, i))
	}
	return names
}

// Start starts kubelets that do not run: they renew and report at once.
func (f *Fleet) Start(nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range nodes {
		k := f.kubelet[name]
		if k.stop != nil {
			continue
		}
		ctx, stop := context.WithCancel(f.ctx)
		k.stop, k.stopped = stop, make(chan struct{})
		go func() {
			defer close(k.stopped)
			k.run(ctx)
		}()
	}
}

// Stop stops kubelets, as if their machines lost power. It returns when the last of their requests has ended.
func (f *Fleet) Stop(nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range nodes {
		if k := f.kubelet[name]; k.stop != nil {
			k.stop()
		}
	}
	for _, name := range nodes {
		if k := f.kubelet[name]; k.stop != nil {
			<-k.stopped
			k.stop = nil
		}
	}
}

// LastBeat is when the last renewal or report of a kubelet that has been stopped was answered.
func (f *Fleet) LastBeat(node string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kubelet[node].beat
}

// FillPods makes the pods that are missing on nodes whose kubelets run, and returns when all are ready there.
func (f *Fleet) FillPods(ctx context.Context) error {
	var names []string
	var missing []*v1.Pod
	f.view.Look(func(now *Now) {
		for _, node := range f.Nodes() {
			for _, name := range f.Pods(node) {
				names = append(names, name)
				if now.Pod(name) == nil {
					missing = append(missing, f.Pod(name, node))
				}
			}
		}
	})
	err := each(missing, func(pod *v1.Pod) error {
		if store := f.Config.store; store != nil {
			return store.create(ctx, pod)
		}
		_, err := f.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return f.view.Wait(ctx, startTimeout+time.Duration(len(missing))*time.Second/100, func(now *Now) string {
		for ; len(names) > 0; names = names[1:] { // those that were ready once are not asked again
			if pod := now.Pod(names[0]); pod == nil || !podReady(pod) || pod.DeletionTimestamp != nil {
				return fmt.Sprintf("pod %s is not ready", names[0])
			}
		}
		return ""
	})
}

// Pod is a pod bound to a node, which tolerates unready nodes for as long as the fleet's configuration says.
func (f *Fleet) Pod(name, node string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Labels: map[string]string{"node": node}}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: "none"}}
	seconds := int64(f.Config.Toleration / time.Second)
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	return pod
}

// hear gives a pod to the kubelet of its node, whether that runs or not.
func (f *Fleet) hear(pod *v1.Pod) {
	if k := f.kubelet[pod.Spec.NodeName]; k != nil {
		k.hear(pod)
	}
}

// each does something to all items, several at a time, and returns the first error.
func each[T any](items []T, do func(T) error) error {
	work := make(chan T)
	errs := make(chan error, writers)
	for range writers {
		go func() {
			var first error
			for item := range work {
				if err := do(item); err != nil && first == nil {
					first = err
				}
			}
			errs <- first
		}()
	}
	for _, item := range items {
		work <- item
	}
	close(work)
	var first error
	for range writers {
		if err := <-errs; err != nil {
			first = err
		}
	}
	return first
}
