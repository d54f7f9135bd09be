package controllermanager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/frontend"
	"github.com/evictkit/evictkit/internal/outside"
)

// Those who write: the controllers by their names, kubectl, and the API server itself.
const (
	podGC   = "podgc"
	kubectl = "kubectl"
	server  = "server"
)

// workloads are the controllers of workloads.
var workloads = []string{"replicaset", "statefulset", "job"}

// All names everything that a Manager can play.
func All() []string { return append([]string{podGC, "disruption", kubectl}, workloads...) }

// Manager plays controllers in the world of one scenario, and drains with kubectl. Whoever calls it holds the clock's lock, as
// Play does.
type Manager struct {
	*face
	controllers []string
	drains      *drains
	end         context.CancelFunc // of the scenario
	stop        context.CancelFunc // ends the controllers; nil if they have not begun
}

// New returns a Manager that plays these for a scenario, whose objects it notes. If pods do not come back, it has no controllers
// of workloads. Without kubectl the world drains.
func New(c *frontend.Clock, s *simulation.Scenario, controllers ...string) (*Manager, error) {
	if s.ReplaceAfter < 0 {
		controllers = slices.DeleteFunc(slices.Clone(controllers), func(name string) bool { return slices.Contains(workloads, name) })
	}
	parts := &outside.Parts{
		Workloads: slices.ContainsFunc(controllers, func(name string) bool { return slices.Contains(workloads, name) }),
		PodGC:     slices.Contains(controllers, podGC),
	}
	m := &Manager{face: newFace(c, parts), controllers: controllers}
	ctx, end := context.WithCancel(context.Background())
	m.end = end
	m.drains = &drains{face: m.face, ctx: ctx, running: make(map[string]context.CancelFunc)}
	m.opened = m.drains.opened
	if slices.Contains(controllers, kubectl) {
		parts.Drain = m.drains.begin
	}
	m.notes(s)
	api, err := newEvictionAPI(m.client(ctx, server))
	if err != nil {
		end()
		return nil, err
	}
	m.asks = api.asks
	return m, nil
}

// With returns a context for simulation.Play, in whose world the Manager plays.
func (m *Manager) With(ctx context.Context) context.Context { return outside.With(ctx, m.parts) }

// Start is a simulation.Start. The controllers begin at the first Step.
func (m *Manager) Start(w *simulation.World) (simulation.Controller, error) {
	m.End()
	m.world, m.clients = w, w.Clients()
	m.begins()
	return m, m.clients.Source.Feed(m)
}

// End ends the controllers: their process has lost the lease.
func (m *Manager) End() {
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
}

// Close ends everything.
func (m *Manager) Close() {
	m.End()
	m.end()
}

// Step begins the controllers. From then on they run by their own timers.
func (m *Manager) Step(context.Context) (next time.Time, err error) {
	m.fed = true
	if m.stop == nil {
		err = m.run()
	}
	return next, cmp.Or(m.fault, err)
}

// run makes upstream's controllers, and runs them once they need not wait for their caches.
func (m *Manager) run() error {
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	factory := informers.NewSharedInformerFactory(m.client(ctx, server), 0)
	var runs []func()
	for _, name := range m.controllers {
		if name == kubectl {
			continue
		}
		start := controllers[name]
		if start == nil {
			return fmt.Errorf("upstream has no controller %q here", name)
		}
		run, err := start(ctx, m.client(ctx, name), factory)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	factory.Start(ctx.Done())
	m.mu.Unlock()
	synctest.Wait()
	m.mu.Lock()
	for _, run := range runs {
		go run()
	}
	return nil
}

// Evict asks the eviction subresource for a pod.
func (m *Manager) Evict(pod *v1.Pod) error {
	m.mu.Unlock()
	defer m.mu.Lock()
	return m.evict(server, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
}

// PodPatched takes a patch of a pod's status by the node controllers: of what it says, the conditions are not the world's.
func (m *Manager) PodPatched(key evictor.PodKey, patch []byte) { m.patched(key.String(), patch) }
