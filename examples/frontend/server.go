package frontend

import (
	"context"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// Server shows a world to the clients of one simulation. It is the world's controller, and the world tells it of changes.
type Server struct {
	mu      *Clock // held to use the world
	world   *simulation.World
	clients evictor.Clients // the world's
	version uint64

	objects  map[string]map[string]runtime.Object // by resource and namespace/name
	past     map[string][]*v1.Node                // a node's last versions
	missed   map[string][]*coordinationv1.Lease   // renewals that watches did not see
	session  *session
	stop     func() // stops the process
	together bool   // see Process.Together
	others   Others // nil if there are none

	Rewrites []Rewrite
}

// Rewrite is a write of a node's taints that changed only the times at which they were added.
type Rewrite struct {
	T    time.Duration `json:"t"`
	Node string        `json:"node"`
}

// resources that are listed and watched.
const (
	nodes      = "nodes"
	pods       = "pods"
	leases     = "leases"
	daemonSets = "daemonsets"
)

func newServer(c *Clock) *Server {
	return &Server{
		mu:      c,
		objects: map[string]map[string]runtime.Object{nodes: {}, pods: {}, leases: {}, daemonSets: {}},
		past:    map[string][]*v1.Node{}, missed: map[string][]*coordinationv1.Lease{},
	}
}

// firstLeases shows the leases of the kubelets that are live at time 0.
func (s *Server) firstLeases(w *simulation.World) {
	w.Clients().Nodes.Nodes(func(n *v1.Node) bool {
		for _, c := range n.Status.Conditions {
			if c.Type == v1.NodeReady && c.Status == v1.ConditionUnknown {
				return true
			}
		}
		s.LeaseObserved(n.Name, w.Clock().Now(), "")
		return true
	})
}

var _ evictor.Target = (*Server)(nil)

// Step does nothing: the controllers run by their own timers. What they write stops the clock, so that what it causes
// happens at its time.
func (s *Server) Step(context.Context) (next time.Time, err error) { return time.Time{}, nil }

// End ends the process: its leader has lost the lease.
func (s *Server) End() {
	s.stop()
	if s.session != nil {
		s.session.close()
		s.session = nil
	}
}

// NodeChanged shows the current node.
func (s *Server) NodeChanged(name string) {
	n, ok := s.clients.Nodes.Node(name)
	if !ok {
		s.put(nodes, name, nil)
		s.put(leases, name, nil)
		return
	}
	n = n.DeepCopy()
	n.Status.Capacity, n.Status.Allocatable = nil, nil // no controller reads them, and every pass of upstream's copies every node
	if past := s.past[name]; len(past) > 16 {
		s.past[name] = slices.Delete(past, 0, 8)
	}
	s.past[name] = append(s.past[name], n)
	s.put(nodes, name, n)
}

// PodChanged shows the current pod.
func (s *Server) PodChanged(key evictor.PodKey) {
	p, ok := s.clients.Pods.Pod(key)
	if !ok {
		s.put(pods, key.String(), nil)
		return
	}
	p = p.DeepCopy()
	s.version++
	p.ResourceVersion = strconv.FormatUint(s.version, 10)
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == "DaemonSet" {
		s.daemonSet(p, owner.Name)
	}
	s.put(pods, key.String(), p)
}

// daemonSet makes the DaemonSet of a pod. v1.18 finds it by labels.
func (s *Server) daemonSet(p *v1.Pod, name string) {
	labels := map[string]string{"daemonset": name}
	p.Labels = labels
	key := p.Namespace + "/" + name
	if s.objects[daemonSets][key] == nil {
		set := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}}
		set.Namespace, set.Name = p.Namespace, name
		s.put(daemonSets, key, set)
	}
}

// LeaseObserved shows a renewed lease.
func (s *Server) LeaseObserved(name string, at time.Time, _ string) {
	s.put(leases, name, s.lease(name, at))
}

// LeaseMissed shows a renewed lease to reads, but not to watches.
func (s *Server) LeaseMissed(name string, at time.Time) {
	lease := s.lease(name, at)
	s.objects[leases][name] = lease
	s.missed[name] = append(s.missed[name], lease)
}

// LeaseShown shows watches the renewal that they missed.
func (s *Server) LeaseShown(name string, renewed time.Time) {
	for i, lease := range s.missed[name] {
		if lease.Spec.RenewTime.Time.Equal(renewed) {
			s.missed[name] = s.missed[name][i+1:]
			if s.session != nil {
				s.session.tell(leases, watch.Event{Type: watch.Modified, Object: lease})
			}
			return
		}
	}
}

func (s *Server) lease(name string, at time.Time) *coordinationv1.Lease {
	s.version++
	lease := &coordinationv1.Lease{}
	lease.Namespace, lease.Name = v1.NamespaceNodeLease, name
	lease.ResourceVersion = strconv.FormatUint(s.version, 10)
	renewed := metav1.NewMicroTime(at)
	lease.Spec.RenewTime = &renewed
	return lease
}

// put stores an object and notifies watches; nil deletes it.
func (s *Server) put(resource, key string, object runtime.Object) {
	had := s.objects[resource][key]
	event := watch.Event{Type: watch.Modified, Object: object}
	switch {
	case object == nil && had == nil:
		return
	case object == nil:
		delete(s.objects[resource], key)
		event = watch.Event{Type: watch.Deleted, Object: had}
	case had == nil:
		event.Type = watch.Added
	}
	if object != nil {
		s.objects[resource][key] = object
	}
	if s.session != nil {
		s.session.tell(resource, event)
	}
}

// SetObserverHealth does nothing: upstream's controllers have no guard.
func (s *Server) SetObserverHealth(error) {}

func (s *Server) now() time.Time { return s.world.Clock().Now() }

// reach fails while the API is down.
func (s *Server) reach() error {
	_, err := s.world.ReadLease(context.Background(), "") // of no node
	return err
}

// note passes on a decision about nodes that a controller reported.
func (s *Server) note(from *session, d evictor.NodeDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == from {
		d.Time = s.now()
		s.world.ObserveNode(d)
	}
}

// As returns the object as a T. It panics if the caller is wrong about the type.
func As[T any](object any) T { return object.(T) } //nolint:errcheck // it panics
