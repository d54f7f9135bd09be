//go:build thin

package evictor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/outbox"
	core "github.com/evictkit/evictkit/evictor/internal/thin"
	"github.com/evictkit/evictkit/evictor/leases"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

var errPaused = gate.ErrPaused

// Evictor has the API of before. Most callers want [Evictor.Run] first, or [Evictor.Step] in tests.
type Evictor struct {
	cfg     Config
	clients Clients
	opts    Options
	pause   gate.Pause
	out     *outbox.Outbox[Decision, subject]
	nodes   *nodelifecycle.Controller // nil for none
	pods    *tainteviction.Controller // nil for none
	late    func() bool
	reader  *leases.Reader
	stepper
}

type stepper interface {
	Step(ctx context.Context) (time.Time, error)
	Run(ctx context.Context) error
	cluster.Target
	Kick()
	GateChanged()
}

func New(cfg Config, clients Clients, opts Options) (*Evictor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	e := &Evictor{cfg: cfg, clients: clients, opts: opts, out: outbox.New(outbox.Ring[Decision, subject]{Size: cfg.ExplainSize, About: about, Repeat: repeat})}
	e.late = func() bool { return false }
	ofNodes, ofPods := cfg.halves()
	var source cluster.Source
	if clients.Source != nil {
		source = noFeed{clients.Source}
	}
	write := podWriter{clients.PodWriter}
	permits := e.gates()
	observer := core.Observer(observer{e})
	var err error
	switch cfg.Half {
	case Lifecycle:
		e.nodes, err = nodelifecycle.New(ofNodes, nodelifecycle.Clients{Nodes: clients.Nodes, Pods: clients.Pods, NodeWriter: clients.NodeWriter, PodWriter: write, Source: source},
			nodelifecycle.Options{Clock: opts.Clock, Observer: observer, Gate: permits, Policy: opts.Policy, Domain: opts.Domain, Excluded: opts.Excluded, Hold: opts.Hold, Prefer: opts.Prefer, Jitter: opts.Jitter, OnPanic: e.panicked})
		e.stepper = e.nodes
	case TaintEviction:
		e.pods, err = tainteviction.New(ofPods, tainteviction.Clients{Nodes: clients.Nodes, Pods: clients.Pods, Evicter: write, Source: source},
			tainteviction.Options{Clock: opts.Clock, Observer: observer, Gate: permits, Domain: opts.Domain, Jitter: opts.Jitter, OnPanic: e.panicked})
		e.stepper = e.pods
	default:
		var both *core.Evictor
		both, err = core.New(core.Config{Nodes: ofNodes, Pods: ofPods}, core.Clients{Nodes: clients.Nodes, Pods: clients.Pods, NodeWriter: clients.NodeWriter, PodWriter: write, Source: source},
			core.Options{Clock: opts.Clock, Observer: observer, Gate: permits, Policy: opts.Policy, Domain: opts.Domain, Excluded: opts.Excluded, Hold: opts.Hold, Prefer: opts.Prefer, Jitter: opts.Jitter, OnPanic: e.panicked})
		if err == nil {
			e.stepper, e.nodes, e.pods, e.late = both, both.Nodes(), both.Pods(), both.Late
		}
	}
	if err != nil {
		return nil, err
	}
	e.pause.Changed = e.stepper.GateChanged
	if clients.Confirmer != nil && e.nodes != nil {
		e.reader = &leases.Reader{Silent: e.nodes.Silent, Read: e.read, Observe: func(node string, at time.Time, version string) {}, Health: e.stepper.SetObserverHealth, Clock: ticks{opts.Clock}, Period: cfg.NodeMonitorPeriod}
	}
	if clients.Source != nil {
		if err := clients.Source.Feed(e, cfg); err != nil {
			return nil, err
		}
	}
	return e, nil
}

type ticks struct{ clock.PassiveClock }

func (ticks) NewTicker(time.Duration) clock.Ticker        { panic("no") }
func (ticks) NewTimer(time.Duration) clock.Timer          { panic("no") }
func (ticks) After(time.Duration) <-chan time.Time        { panic("no") }
func (ticks) Sleep(time.Duration)                         { panic("no") }
func (ticks) Tick(time.Duration) <-chan time.Time         { panic("no") }
func (ticks) AfterFunc(time.Duration, func()) clock.Timer { panic("no") }

// read has the old Confirmer read a lease, and feed it.
func (e *Evictor) read(ctx context.Context, node string) (time.Time, string, error) {
	st, _ := e.nodes.Node(node)
	_, err := e.clients.Confirmer.Confirm(ctx, Suspect{Node: node, UID: st.Verdict.UID, Lease: func(at time.Time, version string) Answer {
		e.stepper.LeaseObserved(node, at, version)
		return Alive
	}})
	return time.Time{}, "", err
}

func (e *Evictor) Step(ctx context.Context) (time.Time, error) {
	if e.reader != nil && ctx != nil {
		e.reader.Once(ctx)
	}
	return e.stepper.Step(ctx)
}

func (e *Evictor) LeaseRenewed(node string, at time.Time) { e.stepper.LeaseObserved(node, at, "") }
func (e *Evictor) Pause(reason string)                    { e.pause.Pause(reason) }
func (e *Evictor) Resume(reason string) bool              { return e.pause.Resume(reason) }
func (e *Evictor) Paused() []string                       { return e.pause.Paused() }
func (e *Evictor) Suspects() []NodeStatus                 { return nil }
func (e *Evictor) Backlogs() []Backlog                    { return nil }

func (e *Evictor) Hold(node, reason string) {
	if e.nodes != nil {
		e.nodes.Hold(node, reason)
	}
}

func (e *Evictor) Release(node string) {
	if e.nodes != nil {
		e.nodes.Release(node)
	}
}

func (e *Evictor) Zones() []zone.Status[zone.Key] {
	if e.nodes == nil {
		return nil
	}
	return e.nodes.Zones()
}

func (e *Evictor) AllZonesDown() bool { return e.nodes != nil && e.nodes.AllZonesDown() }

func (e *Evictor) Waiting() []Waiting {
	if e.nodes == nil {
		return nil
	}
	return e.nodes.Waiting()
}

func (e *Evictor) Evictions() (list []Eviction) {
	if e.pods == nil {
		return nil
	}
	for _, ev := range e.pods.Evictions() {
		list = append(list, Eviction{Pod: ev.Pod, Due: ev.Due, Attempt: ev.Attempt, Why: ofPod(ev.Why)})
	}
	return list
}

func (e *Evictor) Node(name string) (NodeStatus, bool) {
	if e.nodes == nil {
		return NodeStatus{}, false
	}
	st, ok := e.nodes.Node(name)
	status := NodeStatus{Verdict: st.Verdict, Zone: st.Zone, Held: st.Held, HeldBack: st.HeldBack, Waiting: st.Waiting}
	for _, ev := range e.Evictions() {
		if ev.Pod.Node == name {
			status.Evictions++
		}
	}
	return status, ok
}

// gates are the old options as one Gate.
func (e *Evictor) gates() gate.Gate {
	o := e.opts
	old := gate.Func(func(ctx context.Context, act gate.Act) error {
		no := func(reason string, err error) error {
			if err == nil {
				return nil
			}
			var named *Refusal
			r := &gate.Refused{Reason: reason, Err: err}
			if errors.As(err, &named) && named != nil {
				r.Again = named.Again
			}
			return r
		}
		switch act.Do {
		case gate.Write:
			if o.MayWrite != nil {
				return no("MayWrite", o.MayWrite())
			}
		case gate.Harm:
			if o.MayHarm != nil {
				if err := o.MayHarm(); err != nil {
					return no("MayHarm", err)
				}
			}
			if o.MayHarmIn != nil {
				if err := o.MayHarmIn(act.Domain); err != nil {
					return no("MayHarm", fmt.Errorf("%s: %w", zoneName(act.Domain), err))
				}
			}
		case gate.Evict:
			if o.MayEvict != nil {
				why := Decision{Time: o.Clock.Now(), Kind: PodEvicted, Node: act.Node, Pod: cluster.RefOf(act.Pod), Taint: act.Why.Taint, Toleration: act.Why.Toleration, Tolerated: act.Why.For, Deadline: act.Why.At}
				if why.Taint == nil {
					why.Reason = reasonTimeout
				}
				return no("MayEvict", o.MayEvict(ctx, act.Pod, why))
			}
		}
		return nil
	})
	return gate.All(old, &e.pause)
}

func zoneName(key zone.Key) string {
	if key == (zone.Key{}) {
		return "nodes without a zone"
	}
	return "zone " + key.String()
}

type noFeed struct{ Source }

func (noFeed) Feed(cluster.Target) error { return nil }

type podWriter struct{ PodWriter }

func (w podWriter) Evict(ctx context.Context, pod PodRef, why tainteviction.Decision) error {
	return w.PodWriter.Evict(ctx, pod, ofPod(why))
}

func (w podWriter) Delete(ctx context.Context, pod PodRef) error {
	return w.PodWriter.Evict(ctx, pod, Decision{Kind: PodEvicted, Node: pod.Node, Pod: pod, Reason: reasonTimeout, Toleration: -1})
}

// observer translates.
type observer struct{ e *Evictor }

func (o observer) ObserveNode(d nodelifecycle.Decision) {
	if d.Kind == nodelifecycle.Passed && o.e.opts.OnPass != nil {
		o.e.opts.OnPass(d.Took)
	}
	if old, ok := ofNode(d); ok {
		o.e.tell(old)
	}
}
func (o observer) ObservePod(d tainteviction.Decision) { o.e.tell(ofPod(d)) }

func (e *Evictor) tell(d Decision) {
	e.out.Add(d, false)
	if e.opts.Observer != nil {
		e.opts.Observer.Observe(d)
	}
	if e.opts.Logger != nil {
		_, text, _ := strings.Cut(d.String(), " ")
		e.opts.Logger.Info(text, slog.String("kind", d.Kind.String()))
	}
	if e.clients.EventSink != nil {
		if event, ok := eventOf(d); ok && (e.opts.MayWrite == nil || e.opts.MayWrite() == nil) {
			e.clients.EventSink.Event(event)
		}
	}
}

func (e *Evictor) panicked(key, value any, stack []byte) {
	if e.opts.Logger != nil {
		e.opts.Logger.Error("evictor: a client panicked", slog.Any("key", key), slog.Any("panic", value), slog.String("stack", string(stack)))
	}
}

func ofPod(d tainteviction.Decision) Decision {
	kinds := [...]Kind{0, EvictionArmed, EvictionMoved, EvictionCancelled, EvictionDelayed, PodEvicted, WriteFailed, Awaiting}
	old := Decision{Time: d.Time, Kind: kinds[d.Kind], Node: d.Pod.Node, Pod: d.Pod, Taint: d.Taint, Toleration: d.Toleration, Tolerated: d.Tolerated, Deadline: d.Deadline, Reason: d.Reason, Err: d.Err}
	if d.Kind == tainteviction.EvictionDelayed {
		old.Reason, old.Err = refusedAs(d.Reason, d.Err)
	}
	return old
}

func refusedAs(reason string, err error) (string, error) {
	if reason == "Paused" || reason == "Blind" {
		reason = "MayHarm"
	}
	var no *gate.Refused
	if errors.As(err, &no) && no.Err != nil {
		err = no.Err
	}
	return reason, err
}

func ofNode(d nodelifecycle.Decision) (Decision, bool) {
	old := Decision{
		Time: d.Time, Node: d.Node, NodeUID: d.NodeUID, Pod: d.Pod, From: d.From, To: d.To, Silence: d.Silence, Grace: d.Grace, Conditions: d.Conditions,
		Zone: d.Zone, FromState: d.FromState, State: d.State, Rate: d.Rate, Counts: d.Counts, Added: d.Added, Removed: d.Removed, Reason: d.Reason, Err: d.Err,
	}
	if d.Pod.Name != "" {
		old.Toleration = -1
	}
	switch d.Kind {
	case nodelifecycle.TurnEnded, nodelifecycle.Passed:
		return old, false
	case nodelifecycle.GateChanged:
		_, old.Err = refusedAs("", d.Err)
		if old.Kind = DomainGateChanged; d.Reason == "writes" {
			old.Kind = GateChanged
		}
		old.Reason = map[string]string{"writes true": "writes are held back", "writes false": "writes go on", "harm true": "taints and evictions are held back", "harm false": "taints and evictions go on"}[fmt.Sprint(d.Reason, " ", d.Err != nil)]
		return old, true
	case nodelifecycle.PodDelayed:
		old.Kind = EvictionDelayed
		old.Reason, old.Err = refusedAs(d.Reason, d.Err)
		return old, true
	}
	name := d.Kind.String()
	i := slices.Index(kindNames[:], name)
	old.Kind = Kind(i)
	return old, i > 0
}

func (e *Evictor) Explain(key string) []Decision {
	namespace, name, _ := strings.Cut(key, "/")
	pod, nodes, zones := PodKey{Namespace: namespace, Name: name}, map[string]bool{key: true}, map[zone.Key]bool{}
	e.out.Select(func(d *Decision) bool {
		if d.Pod.Name != "" && d.Pod.PodKey == pod {
			nodes[d.Node] = true
		}
		return false
	})
	for name := range nodes {
		if st, ok := e.Node(name); ok {
			zones[st.Zone] = true
		}
	}
	return e.out.Select(func(d *Decision) bool {
		switch {
		case d.Kind == ZoneChanged:
			return zones[d.Zone] && (d.FromState != zone.Initial || d.State != zone.Normal)
		case d.Kind == DomainGateChanged:
			return zones[d.Zone]
		case d.Pod.Name != "":
			return d.Pod.PodKey == pod
		}
		return nodes[d.Node] && d.Node != "" || d.Kind == AllZonesDown || d.Kind == AllZonesDownEnded || d.Kind == Awaiting
	})
}
