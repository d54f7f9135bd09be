package evictor_test

import (
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

// machine is the naive model of a node.
type machine struct {
	zone             string
	failed, cordoned bool
	held             bool
	notReady         bool // its live kubelet reports so
}

// life is a cluster in which everything happens, in an order that a seed decides.
type life struct {
	t   *testing.T
	c   *evictortest.Cluster
	cfg evictor.Config

	mu       sync.Mutex // guards what follows; not held while the evictor acts
	r        *rand.Rand
	e        *tested
	machines map[string]*machine
	names    []string // of all machines ever, in order
	pods     int
	writes   int
	faulty   int // one in this many writes fails; 0 means none
	lively   int // something happens during one in this many writes; 0 means none
	leader   bool
	refused  string // the domain without permission
	lenient  bool   // the policy is the evictor's own
	log      []string

	stops atomic.Bool // what the policy, if it is ours, says of domains with bad nodes: it is asked with the evictor locked
}

func newLife(t *testing.T, seed int64) *life {
	l := &life{t: t, r: rand.New(rand.NewSource(seed)), cfg: config(), machines: map[string]*machine{}, leader: true}
	maybe := func(n int) bool { return l.r.Intn(n) == 0 }
	l.cfg.Nodes.NodeEvictionRate = 1
	l.lenient = !maybe(3)
	l.cfg.Nodes.TaintBasedEviction, l.cfg.Nodes.PodEvictionTimeout = !maybe(3), time.Minute
	if maybe(4) {
		l.cfg.Nodes.NodeMonitorPeriod = 0
	}
	if maybe(4) {
		l.cfg.Nodes.MaxNodesPerSecond = 0.2
	}
	reports := []time.Duration{30 * time.Second, 90 * time.Second, 2 * time.Hour}[l.r.Intn(3)]
	options := []evictortest.Option{evictortest.PodsPerNode(l.r.Intn(3)), evictortest.Heartbeats(10*time.Second, reports)}
	for i := range 1 + l.r.Intn(3) {
		key, n := string(rune('a'+i)), 1+l.r.Intn(5)
		options = append(options, evictortest.Zone(key, n))
		for k := range n {
			name := fmt.Sprintf("%s-%d", key, k)
			l.machines[name] = &machine{zone: key}
			l.names = append(l.names, name)
		}
	}
	l.c = evictortest.New(t, options...)
	l.c.FailWrites(l.write)
	return l
}

func (l *life) options() evictor.Options {
	var policy zone.Policy
	if !l.lenient {
		policy = zone.PolicyFunc(l.decide)
	}
	return evictor.Options{Clock: l.c.Clock(), Policy: policy, Gate: gate.All(mayWrite(func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.leader {
			return errors.New("not the leader")
		}
		return nil
	}), mayHarmIn(func(domain zone.Key) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if domain.Zone == l.refused {
			return errors.New("not here")
		}
		return nil
	}))}
}

// decide is the configured policy, or stops a domain with bad nodes.
func (l *life) decide(s zone.Situation) zone.Ruling {
	ruling := zone.DisruptionPolicy{
		EvictionRate: l.cfg.Nodes.NodeEvictionRate, SecondaryEvictionRate: l.cfg.Nodes.SecondaryNodeEvictionRate,
		LargeZoneThreshold: l.cfg.Nodes.LargeClusterSizeThreshold, UnhealthyThreshold: l.cfg.Nodes.UnhealthyZoneThreshold,
	}.Decide(s)
	if ruling.AskAfter = 10 * time.Second; s.Counts.Bad > 0 && l.stops.Load() {
		ruling.Rate = 0
	}
	return ruling
}

// write decides what happens to a write of the evictor.
func (l *life) write(_, object string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writes++; l.writes > 50000 {
		l.t.Fatalf("it goes round in circles")
	}
	if l.lively > 0 && l.r.Intn(l.lively) == 0 {
		l.happen()
	}
	if l.faulty == 0 || l.r.Intn(l.faulty) > 0 {
		return nil
	}
	switch l.r.Intn(5) {
	case 0:
		return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
	case 1:
		return apierrors.NewTooManyRequests("later", l.r.Intn(5))
	case 2:
		panic("a bug of the client's")
	default:
		return errors.New("unavailable")
	}
}

func (l *life) any() (string, *machine) {
	for {
		name := l.names[l.r.Intn(len(l.names))]
		if m := l.machines[name]; m != nil {
			return name, m
		}
	}
}

// each calls f for every machine of the zone, in order.
func (l *life) each(zone string, f func(string, *machine)) {
	for _, name := range l.names {
		if m := l.machines[name]; m != nil && (zone == "" || m.zone == zone) {
			f(name, m)
		}
	}
}

func (l *life) fail(name string, m *machine) {
	m.failed = true
	l.c.Fail(name)
}

// recover brings a failed machine back; if it reported not Ready itself it still does.
func (l *life) recover(name string, m *machine) {
	if m.failed {
		m.failed, m.notReady = false, false
	}
	l.c.Recover(name)
}

// happen makes one thing happen; l.mu is held.
func (l *life) happen() {
	name, m := l.any()
	key := string(rune('a' + l.r.Intn(3)))
	what := l.r.Intn(24)
	l.log = append(l.log, fmt.Sprintf("%s: %d on %s, %s", l.c.Clock().Since(evictortest.Epoch), what, name, key))
	switch what {
	case 0, 1, 2:
		l.fail(name, m)
	case 3, 4:
		l.recover(name, m)
	case 5:
		l.each(key, l.fail)
	case 6:
		l.each(key, l.recover)
	case 7:
		m.cordoned = !m.cordoned
		l.c.Cordon(name, m.cordoned)
	case 8:
		m.held = true
		l.e.Nodes().Hold(name, "repair")
	case 9:
		m.held = false
		l.e.Nodes().Release(name)
	case 10:
		l.e.Pause("maintenance")
	case 11:
		l.e.Resume("maintenance")
	case 12:
		l.e.SetObserverHealth(errors.New("blind"))
	case 13:
		l.e.SetObserverHealth(nil)
	case 14:
		m.zone = key
		l.c.Relabel(name, zone.Key{Zone: key})
	case 15:
		if len(l.machines) > 1 {
			delete(l.machines, name)
			l.e.Nodes().Release(name)
			l.c.DeleteNode(name)
		}
	case 16:
		for _, name := range l.names {
			if l.machines[name] == nil {
				l.machines[name] = &machine{zone: key}
				l.c.AddNode(name, zone.Key{Zone: key})
				break
			}
		}
	case 17:
		l.pods++
		l.c.AddPod(fmt.Sprint("pod-", l.pods), name, evictortest.TolerateFor(v1.TaintNodeUnreachable, int64(l.r.Intn(100))))
	case 18:
		if !m.failed && l.lively == 0 {
			m.notReady = !m.notReady
			status := v1.ConditionTrue
			if m.notReady {
				status = v1.ConditionFalse
			}
			l.c.Condition(name, v1.NodeReady, status)
		}
	case 19:
		l.leader = !l.leader
	case 20:
		l.refused = []string{"", "a", "b", "c"}[l.r.Intn(4)]
		l.e.Kick()
	case 21, 22:
		l.refused = []string{"", "a", "b", "c"}[l.r.Intn(4)]
	case 23:
		l.stops.Store(l.r.Intn(3) == 0)
	}
}

// kubelets report again if the API does not show their last report: a write of ours, based on an older node, undid it.
func (l *life) kubelets() {
	l.each("", func(name string, m *machine) {
		node, _ := l.c.Clients().Nodes.Node(name)
		for _, c := range node.Status.Conditions {
			if c.Status == v1.ConditionUnknown && !m.failed {
				l.c.Condition(name, v1.NodeDiskPressure, v1.ConditionFalse)
				break
			}
		}
	})
}
