package pressure

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// replay gives ours the kubelet's inputs at the same instants, and reports where it decides otherwise. It may differ
// from the kubelet only by the rules that are left out.
type replay struct {
	series  *series
	without []Rule
	machine *nodepressure.Machine
	clock   *clocktesting.FakePassiveClock
	seen    map[nodepressure.Signal]time.Time // in the last sample; only of signals in it
	stamps  map[nodepressure.Signal]time.Time // as given to ours
	differs []string
}

// replayed returns the differences, one per line.
func replayed(s *series, passes []pass, without ...Rule) ([]string, error) {
	config := s.config
	clock := clocktesting.NewFakePassiveClock(passes[0].at)
	config.Clock = clock
	machine, err := nodepressure.New(config)
	if err != nil {
		return nil, err
	}
	r := &replay{series: s, without: without, machine: machine, clock: clock, stamps: map[nodepressure.Signal]time.Time{}}
	first := true
	for i := range passes {
		clock.SetTime(passes[i].at)
		if !s.steps[i].failed {
			r.pass(s.steps[i], &passes[i], first)
		} else if !reflect.DeepEqual(passes[i].killed, []kill(nil)) {
			r.differ(&passes[i], "kills without a sample")
		}
		first = false
		r.conditions(&passes[i])
	}
	return r.differs, nil
}

// as says whether to imitate the kubelet for that rule.
func (r *replay) as(rule Rule) bool { return !slices.Contains(r.without, rule) }

func (r *replay) differ(p *pass, format string, args ...any) {
	r.differs = append(r.differs, p.at.Format(time.TimeOnly)+": "+fmt.Sprintf(format, args...))
}

func (r *replay) pass(s step, p *pass, first bool) {
	stats := s.stats
	stats.Signals = r.signals(s.stats.Signals, first)
	d := r.machine.Observe(stats)
	if d.Action == nodepressure.Nothing || len(d.Evictions) > 0 && d.Threshold.Signal == "" {
		r.compare(p, outcome{killed: r.kills(d.Evictions, p.at)})
		return
	}
	var wanted []outcome
	for _, met := range r.choices(d) {
		dd := d
		dd.Threshold, dd.Sample = met.Threshold, met.Sample
		wanted = append(wanted, r.outcome(dd, s, p))
	}
	r.compare(p, wanted...)
}

// signals returns the sample with the peculiarities of the kubelet's memory of samples.
func (r *replay) signals(given map[nodepressure.Signal]nodepressure.Sample, first bool) map[nodepressure.Signal]nodepressure.Sample {
	told := maps.Clone(given)
	if r.as(FirstPass) && first {
		for _, signal := range []nodepressure.Signal{nodepressure.ContainerFsAvailable, nodepressure.ContainerFsInodesFree} {
			if sample, ok := told[signal]; ok {
				sample.Available = math.MaxInt64 // seen, and never short
				told[signal] = sample
			}
		}
	}
	if !r.as(StaleOverGap) {
		return told
	}
	// Ours gets a new time whenever the kubelet considers the sample new.
	for signal, sample := range told {
		last, known := r.seen[signal]
		if !known || sample.Time.IsZero() || sample.Time.After(last) {
			if r.stamps[signal].IsZero() {
				r.stamps[signal] = epoch
			}
			r.stamps[signal] = r.stamps[signal].Add(time.Second)
		}
		sample.Time = r.stamps[signal]
		told[signal] = sample
	}
	r.seen = map[nodepressure.Signal]time.Time{}
	for signal, sample := range given {
		r.seen[signal] = sample.Time
	}
	return told
}

// choices returns the thresholds that the kubelet may act on: any one of memory, or any other if none of memory is due.
func (r *replay) choices(d nodepressure.Decision) []nodepressure.MetThreshold {
	var memory, all []nodepressure.MetThreshold
	for _, met := range d.Met {
		switch {
		case !met.Due || met.Stale || !r.as(ThresholdOrder) && met.Threshold != d.Threshold:
		case met.Threshold.Signal.Condition() == v1.NodeMemoryPressure:
			memory = append(memory, met)
			all = append(all, met)
		default:
			all = append(all, met)
		}
	}
	if len(memory) > 0 {
		return memory
	}
	return all
}

// outcome is the result of a decision.
type outcome struct {
	event     string
	reclaimed []nodepressure.Reclaim
	killed    []kill
}

// outcome carries out a decision with the threshold that is set in it.
func (r *replay) outcome(d nodepressure.Decision, s step, p *pass) outcome {
	o := outcome{event: d.Event(), reclaimed: reclaimsOf(r.series.config.Layout, d.Threshold.Signal)}
	if len(o.reclaimed) > 0 {
		after := s.after
		if s.afterFailed {
			after = nodepressure.Stats{}
		} else if r.as(EmptySample) && len(after.Signals) == 0 {
			return o
		}
		d.Action = nodepressure.ReclaimNode
		if r.machine.AfterReclaim(d, after).Action == nodepressure.Nothing {
			return o
		}
	}
	ranking := r.ranking()
	ranked := nodepressure.Rank(s.stats.Pods, d.Threshold.Signal, r.series.config.Layout, ranking)
	ranked = slices.DeleteFunc(ranked, func(c nodepressure.Candidate) bool { return c.Protection != nodepressure.Evictable })
	if len(ranked) == 0 {
		return o
	}
	first := &ranked[0]
	for i := range ranked {
		if r.as(PodTies) && len(p.killed) == 1 && ranked[i].Pod.Name == p.killed[0].pod && ranking.Compare(d.Threshold.Signal.Resource(), first, &ranked[i]) == 0 {
			first = &ranked[i]
		}
	}
	eviction := d.Eviction(first)
	if most := r.series.config.MaxPodGracePeriodSeconds; r.as(NegativeGrace) && most < 0 && !eviction.Hard {
		eviction.GracePeriodSeconds = most
	}
	o.killed = r.kills([]nodepressure.Eviction{eviction}, p.at)
	return o
}

func (r *replay) kills(evictions []nodepressure.Eviction, at time.Time) (killed []kill) {
	for _, e := range evictions {
		killed = append(killed, killOf(e, at, r.as(Generation)))
	}
	return killed
}

// killOf returns an eviction that was carried out, with or without the pod's generation.
func killOf(e nodepressure.Eviction, at time.Time, generation bool) kill {
	k := kill{pod: e.Pod.Name, seconds: e.GracePeriodSeconds, message: e.Message, annotations: e.Annotations}
	e.Apply(&k.status, metav1.NewTime(at))
	for i := range k.status.Conditions {
		if generation {
			k.status.Conditions[i].ObservedGeneration = e.Pod.Generation
		}
	}
	return k
}

// compare reports if the kubelet did none of what was expected.
func (r *replay) compare(p *pass, wanted ...outcome) {
	got := outcome{event: p.event, reclaimed: p.reclaimed, killed: p.killed}
	if !slices.ContainsFunc(wanted, func(o outcome) bool { return reflect.DeepEqual(got, o) }) {
		r.differ(p, "the kubelet did %+v, ours would %+v", got, wanted)
	}
}

// conditions compares what is reported after a pass.
func (r *replay) conditions(p *pass) {
	under := r.machine.Conditions()
	if r.as(NoTransition) && r.series.config.PressureTransitionPeriod == 0 {
		under = nil
	}
	if !reflect.DeepEqual(sorted(under), sorted(p.conditions)) {
		r.differ(p, "the kubelet is under %v, ours under %v", p.conditions, under)
		return
	}
	for i, pod := range r.series.arrivals {
		if r.as(QOSStatus) {
			pod = withClass(pod)
		}
		a := nodepressure.Admit(under, pod)
		ours := lifecycle.PodAdmitResult{Admit: a.Admitted, Reason: a.Reason, Message: a.Message}
		kubelets := p.admitted[i]
		if r.as(ConditionOrder) {
			ours.Message, kubelets.Message = sortedConditions(ours.Message), sortedConditions(kubelets.Message)
		}
		if ours != kubelets {
			r.differ(p, "of %s the kubelet says %+v, ours %+v", pod.Name, kubelets, ours)
		}
	}
}

func sorted[S ~string](list []S) []string {
	result := make([]string, 0, len(list))
	for _, s := range list {
		result = append(result, strings.TrimSpace(string(s)))
	}
	slices.Sort(result)
	return result
}
