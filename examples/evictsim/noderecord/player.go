package noderecord

import (
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// zero is the instant 0 of a record.
var zero = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Player plays samples through a machine. The recorded pods stayed, so the player leaves a pod that it evicts out
// of all later samples, and counts what the pod used there as available. Reclaiming frees nothing, because a
// record does not say what it would free.
type Player struct {
	layout     nodepressure.Layout
	machine    *nodepressure.Machine
	now        time.Time
	gone       map[string]*v1.Pod // evicted
	conditions []v1.NodeConditionType
	told       map[string]string // by kind: the threshold of the last reclaim or stuck event, to report each once
}

// NewPlayer returns a player that has seen no sample, or an error with the faults of the node.
func NewPlayer(node Node) (*Player, error) {
	config, err := node.Config()
	if err != nil {
		return nil, err
	}
	p := &Player{layout: node.Layout, now: zero, gone: map[string]*v1.Pod{}, told: map[string]string{}}
	config.Clock = playerClock{p}
	p.machine, err = nodepressure.New(config)
	return p, err
}

type playerClock struct{ *Player }

func (c playerClock) Now() time.Time                  { return c.now }
func (c playerClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// Thresholds returns the watched thresholds.
func (p *Player) Thresholds() []nodepressure.Threshold { return p.machine.Thresholds() }

// Play is one pass of the kubelet over a sample. It returns what the kubelet would do and report. Pass samples in order
// of time. The map has at least the pods that the sample names, by Key.
func (p *Player) Play(sample *Sample, pods map[string]*v1.Pod) []Event {
	p.now = zero.Add(sample.At())
	stats := p.without(sample.Stats(pods, p.now))
	d := p.machine.Observe(stats)
	events := p.changed(sample.T, &d)
	var why nodepressure.MetThreshold
	if i := slices.IndexFunc(d.Met, func(m nodepressure.MetThreshold) bool { return m.Threshold == d.Threshold }); i >= 0 {
		why = d.Met[i]
	}
	if d.Action == nodepressure.ReclaimNode {
		e := Event{T: sample.T, Kind: KindReclaim}
		for _, what := range d.Reclaim {
			e.Reclaim = append(e.Reclaim, what.String())
		}
		events = p.once(events, e.because(why, zero))
		d = p.machine.AfterReclaim(d, stats)
	}
	switch d.Action {
	case nodepressure.Nothing:
		clear(p.told)
	case nodepressure.Stuck:
		events = p.once(events, Event{T: sample.T, Kind: KindStuck}.because(why, zero))
	case nodepressure.EvictPods:
		for _, e := range d.Evictions {
			event := Event{T: sample.T, Kind: KindEvict, Pod: Key(e.Pod), Cause: e.Cause, GracePeriodSeconds: e.GracePeriodSeconds, Message: e.Message}
			if d.Threshold.Signal != "" {
				event = event.because(why, zero)
			}
			events = append(events, event)
			p.gone[Key(e.Pod)] = e.Pod
		}
	}
	return events
}

// once adds an event unless the last one of its kind had the same threshold.
func (p *Player) once(events []Event, e Event) []Event {
	if p.told[e.Kind] == e.Threshold {
		return events
	}
	p.told[e.Kind] = e.Threshold
	return append(events, e)
}

// without returns the sample as if the evicted pods were gone. A pod described again since then is a new one.
func (p *Player) without(stats nodepressure.Stats) nodepressure.Stats {
	stats.Pods = slices.DeleteFunc(stats.Pods, func(pod nodepressure.Pod) bool {
		if p.gone[Key(pod.Pod)] != pod.Pod {
			return false
		}
		for signal, sample := range stats.Signals {
			sample.Available += min(pod.Uses(signal, p.layout), math.MaxInt64-max(sample.Available, 0))
			stats.Signals[signal] = sample
		}
		return true
	})
	return stats
}

// changed returns the conditions that begin or end.
func (p *Player) changed(t float64, d *nodepressure.Decision) (events []Event) {
	for _, condition := range p.conditions {
		if !slices.Contains(d.Conditions, condition) {
			events = append(events, Event{T: t, Kind: KindCondition, Condition: condition})
		}
	}
	for _, condition := range d.Conditions {
		i := slices.IndexFunc(d.Met, func(m nodepressure.MetThreshold) bool { return m.Threshold.Signal.Condition() == condition })
		if !slices.Contains(p.conditions, condition) && i >= 0 {
			events = append(events, Event{T: t, Kind: KindCondition, Condition: condition, True: true}.because(d.Met[i], zero))
		}
	}
	p.conditions = d.Conditions
	return events
}
