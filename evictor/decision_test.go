package evictor_test

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
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

	text string
}

func (d decision) String() string { return d.text }

func ofNode(d evictor.NodeDecision) decision {
	return decision{
		Time: d.Time, Kind: kind(d.Kind.String()), Node: d.Node, NodeUID: d.NodeUID, Pod: d.Pod, From: d.From, To: d.To, Silence: d.Silence, Grace: d.Grace, Conditions: d.Conditions,
		Zone: d.Zone, FromState: d.FromState, State: d.State, Rate: d.Rate, Counts: d.Counts, Added: d.Added, Removed: d.Removed, Reason: d.Reason, Err: d.Err, Took: d.Took,
		Toleration: -1, text: explain.Node(d).String(),
	}
}

func ofPod(d evictor.PodDecision) decision {
	return decision{
		Time: d.Time, Kind: kind(d.Kind.String()), Node: d.Pod.Node, Pod: d.Pod, Taint: d.Taint, Toleration: d.Toleration, Tolerated: d.Tolerated, Deadline: d.Deadline,
		Reason: d.Reason, Err: d.Err, text: explain.Pod(d).String(),
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
func mayWrite(may func() error) evictor.Gate { return gate.Leader(may) }

func mayHarm(may func() error) evictor.Gate {
	return gate.Breaker(func(zone.Key) error { return may() })
}

func mayHarmIn(may func(zone.Key) error) evictor.Gate { return gate.Breaker(may) }

func mayEvict(may func(ctx context.Context, pod *v1.Pod, why taints.Deadline) error) evictor.Gate {
	return gate.Func(func(ctx context.Context, act evictor.Act) error {
		if act.Do != gate.Evict {
			return nil
		}
		return may(ctx, act.Pod, act.Why)
	})
}
