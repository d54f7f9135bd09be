package evictor_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// kind is the name of a kind of either half's decisions.
type kind string

// decision is one of either half's.
type decision struct {
	Time           time.Time
	Kind           kind
	Node           string
	NodeUID        types.UID
	Pod            evictor.PodRef
	From, To       v1.ConditionStatus
	Silence, Grace time.Duration
	Conditions     []v1.NodeCondition
	Zone           zone.Key
	FromState      zone.State
	State          zone.State
	Rate           float64
	Counts         zone.Counts
	Added, Removed []v1.Taint
	Taint          *v1.Taint
	Toleration     int
	Tolerated      time.Duration
	Deadline       time.Time
	Reason         string
	Err            error
	Took           time.Duration

	words func() explain.Entry
}

func (d decision) String() string { return d.words().String() }

func ofNode(d evictor.NodeDecision) decision {
	return decision{
		Time: d.Time, Kind: kind(d.Kind), Node: d.Node, NodeUID: d.NodeUID, Pod: d.Pod, From: d.From, To: d.To, Silence: d.Silence, Grace: d.Grace, Conditions: d.Conditions,
		Zone: d.Zone, FromState: d.FromState, State: d.State, Rate: d.Rate, Counts: d.Counts, Added: d.Added, Removed: d.Removed, Reason: d.Reason, Err: d.Err, Took: d.Took,
		Toleration: -1, words: func() explain.Entry { return explain.Node(d) },
	}
}

func ofPod(d evictor.PodDecision) decision {
	return decision{
		Time: d.Time, Kind: kind(d.Kind), Node: d.Pod.Node, Pod: d.Pod, Taint: d.Taint, Toleration: d.Toleration, Tolerated: d.Tolerated, Deadline: d.Deadline,
		Reason: d.Reason, Err: d.Err, words: func() explain.Entry { return explain.Pod(d) },
	}
}

// observe hands the decisions of both halves to one function; not those that say no more than others.
func observe(tell func(decision)) evictor.Observer {
	return evictor.Observe(func(d evictor.NodeDecision) {
		if one := ofNode(d); one.Kind != "Passed" && one.Kind != "TurnEnded" {
			tell(one)
		}
	}, func(d evictor.PodDecision) { tell(ofPod(d)) })
}

// mayWrite, mayHarm, mayHarmIn and mayEvict are Gates that ask about one act.
func mayWrite(may func() error) gate.Gate { return gate.Leader(may) }

func mayHarm(may func() error) gate.Gate {
	return gate.Breaker(func(zone.Key) error { return may() })
}

func mayHarmIn(may func(zone.Key) error) gate.Gate { return gate.Breaker(may) }

func mayEvict(may func(ctx context.Context, pod *v1.Pod, why taints.Deadline) error) gate.Gate {
	return gate.Func(func(ctx context.Context, act gate.Act) error {
		if act.Do != gate.Evict {
			return nil
		}
		return may(ctx, act.Pod, act.Why)
	})
}

// tested is an evictor with what programs put beside it: a pause, and a memory of its decisions.
type tested struct {
	*evictor.Evictor
	pause *gate.Pause
	why   *explain.Ring
}

func (e *tested) Pause(reason string)                { e.pause.Pause(reason) }
func (e *tested) Resume(reason string) bool          { return e.pause.Resume(reason) }
func (e *tested) Paused() []string                   { return e.pause.Paused() }
func (e *tested) Explain(key string) []explain.Entry { return e.why.Explain(key) }

// beside adds both to the options.
func (e *tested) beside(options ...evictor.Options) (o evictor.Options) {
	if e.pause, e.why = new(gate.Pause), explain.New(4096); len(options) > 0 {
		o = options[0]
	}
	if o.Gate = gate.All(e.pause, o.Gate); o.Observer == nil {
		o.Observer = e.why
	} else {
		o.Observer = evictor.Observers{e.why, o.Observer}
	}
	return o
}

// start has a cluster start one.
func start(c *evictortest.Cluster, config evictor.Config, options ...evictor.Options) *tested {
	e := &tested{}
	e.Evictor = c.Start(config, e.beside(options...))
	e.pause.Changed = e.Kick
	return e
}

// newTested makes one.
func newTested(config evictor.Config, clients evictor.Clients, options evictor.Options) (*tested, error) {
	e := &tested{}
	var err error
	if e.Evictor, err = evictor.New(config, clients, e.beside(options)); err == nil {
		e.pause.Changed = e.Kick
	}
	return e, err
}

func tainted(c *evictortest.Cluster, zone string, n int) (nodes []string) {
	for i := range n {
		if name := fmt.Sprintf("%s-%d", zone, i); c.HasNoExecute(name) {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// toldOf returns the decisions of that kind about a node or pod.
func toldOf(e *tested, key string, kinds ...kind) (texts []string) {
	for _, d := range e.Explain(key) {
		if slices.Contains(kinds, kind(d.Kind)) {
			texts = append(texts, d.String())
		}
	}
	return texts
}

// held are the kinds that say that an eviction is held back.
var held = []kind{"EvictionDelayed", "PodDelayed"}
