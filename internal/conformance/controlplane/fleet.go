package controlplane

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// FleetConfig says how many nodes there are, and what their kubelets do.
type FleetConfig struct {
	// Name begins the names of zones and nodes, and is a label of everything in the fleet. It may be empty if the
	// cluster has one fleet.
	Name string
	// Zones are named zone-0, zone-1, …; each has NodesPerZone nodes, named <zone>-node-0, …
	Zones, NodesPerZone int
	// PodsPerNode pods are in namespace default, named <node>-pod-0, …; they tolerate unready nodes for Toleration.
	PodsPerNode int
	Toleration  time.Duration
	// Renewal is the period of lease renewals, Report that of status reports. The kubelets are spread evenly over it.
	Renewal, Report time.Duration
	// PastAPIServer writes renewals and new pods, as if they were running already, directly to etcd. That costs a fifth
	// of the CPU, and readers of the API server see no difference.
	PastAPIServer bool
	store         *store // not nil if PastAPIServer
}

// Fleet is the nodes of a cluster and their kubelets.
type Fleet struct {
	Config FleetConfig
	// Renewals counts renewals of leases.
	Renewals atomic.Int64

	client kubernetes.Interface
	view   *View

	ctx     context.Context // of all kubelets
	mu      sync.Mutex      // guards what follows
	kubelet map[string]*kubelet
}

// writers is how many requests a fleet has in flight when it does something to all its nodes or pods.
const writers = 32

// StartFleet registers nodes and pods, and starts the kubelets, which run until ctx ends. It returns once the API
// server shows all of them, with every pod ready.
func StartFleet(ctx context.Context, client kubernetes.Interface, view *View, config FleetConfig) (*Fleet, error) {
	f := &Fleet{Config: config, client: client, view: view, ctx: ctx, kubelet: map[string]*kubelet{}}
	for z := range config.Zones {
		for i := range config.NodesPerZone {
			k := &kubelet{fleet: f, zone: fmt.Sprint(config.prefix(), "zone-", z), name: f.node(z, i), todo: map[types.UID]*v1.Pod{}, due: make(chan struct{}, 1)}
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

// Nodes returns the names of all nodes.
func (f *Fleet) Nodes() (names []string) {
	for z := range f.Config.Zones {
		names = append(names, f.Zone(z)...)
	}
	return names
}

// Zone returns the names of the nodes of one zone.
func (f *Fleet) Zone(z int) (names []string) {
	for i := range f.Config.NodesPerZone {
		names = append(names, f.node(z, i))
	}
	return names
}

func (f *Fleet) node(z, i int) string {
	return fmt.Sprintf("%szone-%d-node-%d", f.Config.prefix(), z, i)
}

func (c FleetConfig) prefix() string {
	if c.Name == "" {
		return ""
	}
	return c.Name + "-"
}

// labels returns the labels of an object of the fleet, including more.
func (c FleetConfig) labels(more map[string]string) map[string]string {
	if c.Name != "" {
		more[fleetLabel] = c.Name
	}
	return more
}

// fleetLabel is the label with the fleet's name on each node, lease and pod.
const fleetLabel = "example.com/fleet"

// Pods returns the names of the pods of a node.
func (f *Fleet) Pods(node string) (names []string) {
	for i := range f.Config.PodsPerNode {
		names = append(names, fmt.Sprintf("%s-pod-%d", node, i))
	}
	return names
}

// Start starts stopped kubelets. They renew and report at once.
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

// Stop stops kubelets, as if their machines lost power. It returns once the last of their requests has ended.
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

// Remove deletes the nodes, their leases and their pods. Stop the kubelets first.
func (f *Fleet) Remove(ctx context.Context) error {
	at := int64(0)
	now := metav1.DeleteOptions{GracePeriodSeconds: &at}
	return each(f.Nodes(), func(node string) error {
		errs := []error{
			f.client.CoreV1().Nodes().Delete(ctx, node, now),
			f.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Delete(ctx, node, now),
		}
		for _, pod := range f.Pods(node) {
			errs = append(errs, f.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, pod, now))
		}
		for _, err := range errs {
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
}

// LastBeat returns when the last renewal or report of a stopped kubelet was answered.
func (f *Fleet) LastBeat(node string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kubelet[node].beat
}

// FillPods makes the missing pods on nodes with running kubelets, and returns once all are ready.
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
		for ; len(names) > 0; names = names[1:] { // a pod that was ready is not checked again
			if pod := now.Pod(names[0]); pod == nil || !podReady(pod) || pod.DeletionTimestamp != nil {
				return fmt.Sprintf("pod %s is not ready", names[0])
			}
		}
		return ""
	})
}

// Pod returns a pod bound to a node, which tolerates unready nodes for the fleet's Toleration.
func (f *Fleet) Pod(name, node string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Labels: f.Config.labels(map[string]string{"node": node})}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: "none"}}
	seconds := int64(f.Config.Toleration / time.Second)
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	return pod
}

// hear passes a pod to the kubelet of its node, whether it is running or not.
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
