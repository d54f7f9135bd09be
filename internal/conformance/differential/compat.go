package differential

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/leases"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/taints"
)

// compat changes our evictor's inputs so that it does what upstream does, for rules that say that the two interpret the
// same input differently. The timelines must then match line by line.
type compat struct {
	// forgetLease: upstream forgets the lease when a status report comes without a renewal, and one pass later it
	// counts the lease as renewed.
	forgetLease bool
	// loseTaints: after a restart upstream removes the NoExecute taints of failed nodes, adds them again at the zone's
	// rate, and restarts every toleration.
	loseTaints bool
}

// evicting is our evictor or, beside v1.18 without a taint manager, its lifecycle half.
type evicting interface {
	simulation.Controller
	evictor.Target
	leases.Judge
}

// subject is one with changed inputs.
type subject struct {
	evicting
	compat
	world  *simulation.World
	lose   bool // the taints, at the next step at which the API is up
	period time.Duration
	origin time.Duration
	seen   map[string]metav1.Time
	// The passes at which a report and a renewal are noted, and the pass at which the lease counts as renewed again.
	reported, renewed, again map[string]time.Duration
	forged                   map[string]time.Time // the renewTime with which it did
}

// start makes the subject. Another one has run before if it is a restart.
func (c compat) start(w *simulation.World, options evictor.Options, restart bool) (*subject, error) {
	config, clients := w.Config(), w.Clients()
	feed := clients.Source.Feed
	clients.Source = nil // its changes come through the subject
	options.Clock = w.Clock()
	e, err := newEvicting(config, clients, options)
	if err != nil {
		return nil, err
	}
	s := &subject{
		evicting: e, compat: c, world: w, lose: restart && c.loseTaints, period: config.Nodes.NodeMonitorPeriod, origin: w.Clock().Since(epoch),
		seen: map[string]metav1.Time{}, reported: map[string]time.Duration{}, renewed: map[string]time.Duration{}, again: map[string]time.Duration{}, forged: map[string]time.Time{},
	}
	return s, feed(s)
}

func newEvicting(config evictor.Config, clients evictor.Clients, options evictor.Options) (evicting, error) {
	if config.Nodes.TaintBasedEviction {
		return evictor.New(config, clients, options)
	}
	return nodelifecycle.New(config.Nodes, clients, nodelifecycle.Options{Clock: options.Clock, Prefer: options.Prefer, Observer: options.Observer.ObserveNode})
}

func (s *subject) loseTaints() error {
	var nodes []*v1.Node
	s.world.Clients().Nodes.Nodes(func(n *v1.Node) bool {
		nodes = append(nodes, n)
		return true
	})
	for _, n := range nodes {
		of := simulation.Nodes{Names: []string{n.Name}}
		for _, t := range n.Spec.Taints {
			var e simulation.Event
			switch {
			case t.Effect != v1.TaintEffectNoExecute:
				continue
			case taints.OwnNoExecute(&t):
				e.Untaint = &simulation.Untaint{Nodes: of, Key: t.Key, Effect: t.Effect}
			default: // from now on
				e.Taint = &simulation.Taint{Nodes: of, NodeTaint: simulation.NodeTaint{Key: t.Key, Value: t.Value, Effect: t.Effect}}
			}
			if err := s.world.Do(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// note records reports of nodes that were known before.
func (s *subject) note(n *v1.Node) {
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		if c.Type != v1.NodeReady {
			continue
		}
		old, known := s.seen[n.Name]
		s.seen[n.Name] = c.LastHeartbeatTime
		if known && !old.Equal(&c.LastHeartbeatTime) {
			s.reported[n.Name] = s.pass()
		}
		return
	}
}

// pass returns the time of the first pass from now on.
func (s *subject) pass() time.Duration {
	since := s.world.Clock().Since(epoch) - s.origin
	if rest := since % s.period; rest > 0 {
		since += s.period - rest
	}
	return s.origin + since
}

func (s *subject) NodeChanged(name string) {
	if n, ok := s.world.Clients().Nodes.Node(name); ok {
		s.note(n)
	} else {
		delete(s.seen, name)
		delete(s.reported, name)
		delete(s.again, name)
	}
	s.evicting.NodeChanged(name)
}

func (s *subject) LeaseObserved(name string, at time.Time, version string) {
	s.renewed[name] = s.pass()
	s.evicting.LeaseObserved(name, at, version)
}

// LeaseRead: a lease that counted as renewed is no news.
func (s *subject) LeaseRead(name string, at time.Time, version string, err error) {
	if !at.After(s.forged[name]) {
		at = time.Time{}
	}
	s.evicting.LeaseRead(name, at, version, err)
}

// Step first makes leases that upstream forgot count as renewed. A lease that was renewed in the same pass as the
// report is not forgotten.
func (s *subject) Step(ctx context.Context) (time.Time, error) {
	if s.lose {
		err := s.loseTaints()
		if err != nil && !apierrors.IsServiceUnavailable(err) {
			return time.Time{}, err
		}
		s.lose = err != nil
	}
	now := s.world.Clock().Since(epoch)
	for name, at := range s.again {
		if at <= now {
			delete(s.again, name)
			s.forged[name] = s.world.Clock().Now()
			s.evicting.LeaseObserved(name, s.forged[name], "")
		}
	}
	for name, at := range s.reported {
		if at <= now && s.forgetLease {
			delete(s.reported, name)
			if s.renewed[name] != at {
				s.again[name] = at + s.period
			}
		}
	}
	return s.evicting.Step(ctx)
}
