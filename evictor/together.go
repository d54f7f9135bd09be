//go:build !thin

package evictor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/pods"
)

// EvictionChecker is an optional interface of a PodWriter whose Evict respects disruption budgets.
type EvictionChecker interface {
	// CheckEviction returns the error that Evict would return now, and evicts nothing. The evictor calls it for each of
	// several pods that leave together (Options.Together), before it evicts the first.
	CheckEviction(ctx context.Context, pod PodRef, why Decision) error
}

// refusal is why the program, or somebody on behalf of a pod that goes along, refuses an eviction.
type refusal struct {
	by    pods.Delay
	err   error
	text  string    // err in words
	again time.Time // when to ask again, zero for after a delay that grows
}

// consent asks Options.MayEvict about a pod, and returns nil if it permits the eviction. Called without e.mu, like all
// below but members.
func (e *Evictor) consent(ctx context.Context, pod *v1.Pod, why Decision) *refusal {
	if e.opts.MayEvict == nil {
		return nil
	}
	return e.refusal(pods.MayEvict, why.Pod, func() error { return e.opts.MayEvict(ctx, pod, why) })
}

func (e *Evictor) refusal(by pods.Delay, pod PodRef, ask func() error) *refusal {
	r := &refusal{by: by}
	err := e.opts.guarded(pod.PodKey, func() error {
		err := ask()
		var named *Refusal
		if errors.As(err, &named) && named != nil {
			r.again = named.Again
		}
		if err != nil {
			r.text = err.Error() // the program's code, like ask
		}
		return err
	})
	if err == nil {
		return nil
	}
	r.err, r.text = err, cmp.Or(r.text, err.Error())
	return r
}

// company asks Options.Together who goes with a pod, and whether each of them may: with their gates, their holds, MayEvict
// and the disruption budgets. The first no is one for all.
func (e *Evictor) company(ctx context.Context, pod *v1.Pod, why Decision) (with []PodRef, no *refusal) {
	if e.opts.Together == nil {
		return nil, nil
	}
	var keys []PodKey
	no = e.refusal(pods.Together, why.Pod, func() error {
		keys = slices.Clone(e.opts.Together(pod)) // the program may keep its own
		return nil
	})
	if no != nil {
		return nil, no
	}
	slices.SortFunc(keys, func(a, b PodKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, key := range slices.Compact(keys) {
		other := e.readPod(key)
		if other == nil || key == why.Pod.PodKey || !goesAlong(other, why.Deadline) {
			continue
		}
		ref := refOf(pods.RefOf(other))
		if no = e.mayGo(ctx, other, along(why, ref)); no != nil {
			return nil, no
		}
		with = append(with, ref)
	}
	if len(with) == 0 {
		return nil, nil
	}
	if no = e.check(ctx, why); no != nil {
		return nil, no
	}
	return with, nil
}

// goesAlong says whether a pod may go with one whose time to leave has come then. One that was created since replaces another.
func goesAlong(pod *v1.Pod, deadline time.Time) bool {
	return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && pods.Spared(pod) == "" &&
		pod.CreationTimestamp.Time.Before(deadline.Truncate(time.Second)) // as exact as the API's times
}

// along is the decision to evict a pod because it goes with the one that why is about.
func along(why Decision, pod PodRef) Decision {
	why.With, why.Pod, why.Node = why.Pod, pod, pod.Node
	return why
}

// mayGo asks everybody about a pod that goes with another one.
func (e *Evictor) mayGo(ctx context.Context, pod *v1.Pod, why Decision) *refusal {
	if err := e.askHarm(why.Pod.Node); err != nil {
		return e.of(why.Pod, &refusal{err: err, text: err.Error()})
	}
	if no := e.consent(ctx, pod, why); no != nil {
		return e.of(why.Pod, no)
	}
	return e.check(ctx, why)
}

// check asks for the disruption budgets.
func (e *Evictor) check(ctx context.Context, why Decision) *refusal {
	checker, ok := e.clients.PodWriter.(EvictionChecker)
	if !ok {
		return nil
	}
	no := e.refusal(pods.Together, why.Pod, func() error { return checker.CheckEviction(ctx, why.Pod, why) })
	if no != nil && apierrors.IsNotFound(no.err) {
		return nil
	}
	return e.of(why.Pod, no)
}

// of is a refusal on behalf of a pod that goes with another one.
func (*Evictor) of(ref PodRef, no *refusal) *refusal {
	if no == nil {
		return nil
	}
	return &refusal{by: pods.Together, err: fmt.Errorf("pod %s: %w", ref.PodKey, no.err), text: "pod " + ref.PodKey.String() + ": " + no.text, again: no.again}
}

// members looks once more, with e.mu held, at the pods that go with another one. Those that are gone meanwhile do not.
func (e *engine) members(with []PodRef) (members []pods.Member, no error) {
	for _, ref := range with {
		rec, pod := e.records[ref.Node], e.readPod(ref.PodKey)
		if rec == nil || !ref.ref().Shows(pod) || pods.Spared(pod) != "" || e.pods.WasEvicted(pod) {
			continue
		}
		if err := e.may(gate.Harm, rec); err != nil {
			return nil, fmt.Errorf("pod %s: %w", ref.PodKey, err)
		}
		if held := e.about(rec).Held(); held != "" {
			return nil, fmt.Errorf("pod %s: node %s is held: %s", ref.PodKey, ref.Node, held)
		}
		members = append(members, pods.Member{Ref: ref.ref(), Node: &rec.pods})
	}
	return members, nil
}
