package differential

import (
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// Shrink makes a case smaller as long as it still fails. It drops events, nodes, pods and parameters, first many at
// once and then one by one, until nothing more can go. A candidate that is invalid, for example because of an event on
// a dropped node, must not count as failing.
func Shrink(c *Case, fails func(*Case) bool) *Case {
	s := &shrinker{Case: *c, fails: fails}
	for again := true; again; {
		again = false
		for _, step := range []func() bool{s.events, s.nodes, s.pods, s.zones, s.selectors, s.parameters, s.until} {
			again = step() || again
		}
	}
	return &s.Case
}

type shrinker struct {
	Case
	fails func(*Case) bool
}

// try keeps a changed copy of the case if it still fails.
func (s *shrinker) try(change func(*Case)) bool {
	c := s.Case
	c.Scenario.Events = slices.Clone(c.Scenario.Events)
	c.Scenario.Cluster.Zones = slices.Clone(c.Scenario.Cluster.Zones)
	change(&c)
	if !s.fails(&c) {
		return false
	}
	s.Case = c
	return true
}

// drop removes runs of items, long ones first.
func drop[T any](s *shrinker, list func(*Case) *[]T) (smaller bool) {
	for size := max(1, len(*list(&s.Case))/2); size > 0; size /= 2 {
		for at := 0; at < len(*list(&s.Case)); {
			end := min(at+size, len(*list(&s.Case)))
			if s.try(func(c *Case) { l := list(c); *l = slices.Delete(slices.Clone(*l), at, end) }) {
				smaller = true
			} else {
				at = end
			}
		}
	}
	return smaller
}

func (s *shrinker) events() bool {
	return drop(s, func(c *Case) *[]simulation.Event { return &c.Scenario.Events })
}

func (s *shrinker) nodes() bool {
	smaller := false
	for _, n := range slices.Clone(s.Nodes) { // together with its pods
		smaller = s.try(func(c *Case) {
			c.Nodes = without(c.Nodes, func(o *v1.Node) bool { return o.Name == n.Name })
			c.Pods = without(c.Pods, func(p *v1.Pod) bool { return p.Spec.NodeName == n.Name })
		}) || smaller
	}
	return smaller
}

func without[T any](list []T, is func(T) bool) []T { return slices.DeleteFunc(slices.Clone(list), is) }

func (s *shrinker) pods() bool { return drop(s, func(c *Case) *[]*v1.Pod { return &c.Pods }) }

func (s *shrinker) zones() bool {
	smaller := drop(s, func(c *Case) *[]simulation.Zone { return &c.Scenario.Cluster.Zones })
	for i := range s.Scenario.Cluster.Zones {
		for _, change := range []func(z *simulation.Zone) (changed bool){
			func(z *simulation.Zone) bool { z.Nodes /= 2; return z.Nodes > 0 },
			func(z *simulation.Zone) bool { z.Nodes--; return z.Nodes > 0 },
			func(z *simulation.Zone) bool { z.PodsPerNode--; return z.PodsPerNode >= 0 },
			func(z *simulation.Zone) bool { z.DaemonSetPodsPerNode--; return z.DaemonSetPodsPerNode >= 0 },
			func(z *simulation.Zone) bool {
				was := z.TolerationSeconds
				z.TolerationSeconds = nil
				return was != nil
			},
		} {
			for {
				z := s.Scenario.Cluster.Zones[i]
				if !change(&z) || !s.try(func(c *Case) { c.Scenario.Cluster.Zones[i] = z }) {
					break
				}
				smaller = true
			}
		}
	}
	return smaller
}

// selectors removes nodes from the lists of events.
func (s *shrinker) selectors() (smaller bool) {
	for i := range s.Scenario.Events {
		for _, of := range []func(e *simulation.Event) **simulation.Nodes{
			func(e *simulation.Event) **simulation.Nodes { return &e.Fail },
			func(e *simulation.Event) **simulation.Nodes { return &e.Recover },
		} {
			if now := *of(&s.Scenario.Events[i]); now == nil || len(now.Names) == 0 {
				continue
			}
			smaller = drop(s, func(c *Case) *[]string {
				place := of(&c.Scenario.Events[i])
				selector := **place
				*place = &selector
				return &selector.Names
			}) || smaller
		}
	}
	return smaller
}

// parameters sets those that do not matter to their defaults.
func (s *shrinker) parameters() (smaller bool) {
	for _, part := range []func(c *Case) reflect.Value{
		func(c *Case) reflect.Value { return reflect.ValueOf(&c.Scenario.Config).Elem() },
		func(c *Case) reflect.Value { return reflect.ValueOf(&c.Scenario.Heartbeat).Elem() },
	} {
		usual := part(&Case{Scenario: *scenariofile.New()})
		for i := range usual.NumField() {
			if !part(&s.Case).Field(i).Equal(usual.Field(i)) {
				smaller = s.try(func(c *Case) { part(c).Field(i).Set(usual.Field(i)) }) || smaller
			}
		}
	}
	return smaller
}

// until ends the scenario earlier.
func (s *shrinker) until() (smaller bool) {
	for _, by := range []time.Duration{10 * time.Minute, time.Minute, 10 * time.Second} {
		for s.Scenario.Until > by {
			if !s.try(func(c *Case) { c.Scenario.Until -= by }) {
				break
			}
			smaller = true
		}
	}
	return smaller
}
