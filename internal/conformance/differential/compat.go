package differential

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
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

// subject is our evictor with changed inputs.
type subject struct {
	*evictor.Evictor
	compat
	cluster *simulator.Cluster
	period  time.Duration
	origin  time.Duration
	seen    map[string]metav1.Time
	// The passes at which a report and a renewal are noted, and the pass at which the lease counts as renewed again.
	reported, renewed, again map[string]time.Duration
}

func (c compat) wrap(settings scenario.Settings) func(*evictor.Evictor, *simulator.Cluster) simulator.Subject {
	restarted := false
	return func(e *evictor.Evictor, cluster *simulator.Cluster) simulator.Subject {
		s := &subject{Evictor: e, compat: c, cluster: cluster, period: settings.NodeMonitorPeriod, origin: cluster.Clock.Elapsed(),
			seen: map[string]metav1.Time{}, reported: map[string]time.Duration{}, renewed: map[string]time.Duration{}, again: map[string]time.Duration{}}
		if restarted && c.loseTaints {
			s.loseTaints()
		}
		restarted = true
		cluster.Nodes(func(n *v1.Node) bool {
			s.note(n)
			return true
		})
		return s
	}
}

func (s *subject) loseTaints() {
	var nodes []*v1.Node
	s.cluster.Nodes(func(n *v1.Node) bool {
		nodes = append(nodes, n)
		return true
	})
	now := metav1.NewTime(s.cluster.Clock.Now())
	for _, n := range nodes {
		for _, t := range n.Spec.Taints {
			switch {
			case t.Effect != v1.TaintEffectNoExecute:
			case t.Key == v1.TaintNodeNotReady || t.Key == v1.TaintNodeUnreachable:
				s.cluster.RemoveTaint(n.Name, t.Key, t.Effect)
			default:
				t.TimeAdded = &now
				s.cluster.SetTaint(n.Name, t)
			}
		}
	}
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
	since := s.cluster.Clock.Elapsed() - s.origin
	if rest := since % s.period; rest > 0 {
		since += s.period - rest
	}
	return s.origin + since
}

func (s *subject) NodeChanged(name string) {
	if n, ok := s.cluster.Node(name); ok {
		s.note(n)
	} else {
		delete(s.seen, name)
		delete(s.reported, name)
		delete(s.again, name)
	}
	s.Evictor.NodeChanged(name)
}

func (s *subject) LeaseRenewed(name string, at time.Time) {
	s.renewed[name] = s.pass()
	s.Evictor.LeaseRenewed(name, at)
}

// Step first makes leases that upstream forgot count as renewed. A lease that was renewed in the same pass as the
// report is not forgotten.
func (s *subject) Step(ctx context.Context) (time.Time, error) {
	now := s.cluster.Clock.Elapsed()
	for name, at := range s.again {
		if at <= now {
			delete(s.again, name)
			s.Evictor.LeaseRenewed(name, s.cluster.Clock.Now())
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
	return s.Evictor.Step(ctx)
}
