package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
)

// fixed are settings that stay as they are: the defaults first, then others that differ in tolerations and rate.
func fixed() (all []policy) {
	all = named("defaults")
	for _, tolerance := range []time.Duration{30 * time.Second, 2 * time.Minute, usualTolerance, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute} {
		slow := policy{name: "tolerations of " + short(tolerance), tolerance: tolerance, ofUpstream: true}
		fast := slow
		fast.name, fast.sets = slow.name+", rate 1/s", set("config.nodeEvictionRate", "1")
		if tolerance != usualTolerance {
			all = append(all, slow)
		}
		all = append(all, fast)
	}
	return all
}

// named returns policies by their names.
func named(names ...string) (all []policy) {
	for _, name := range names {
		i := slices.IndexFunc(policies, func(p policy) bool { return p.name == name })
		all = append(all, policies[i])
	}
	return all
}

// trial holds the settings of a policy of trials.
type trial struct {
	perZone   bool          // one for each zone; otherwise one for all nodes
	tolerance time.Duration // of all pods
	dwell     time.Duration // if the node stays away this long after its pods may leave, its eviction is proved
	alarm     time.Duration // if the node is back this soon, it was a false alarm
	cooldown  time.Duration // after the first false alarm; up to eight times that after more
	quiet     time.Duration // after which the trial begins with one node again
}

func (t trial) policy() policy {
	name := "trial of all"
	bound := budget.Bound{
		Name: "trial", Of: budget.Unproven, Max: budget.Percent(100), Within: t.tolerance + t.dwell, Unjudged: budget.Proved,
		Cooldown: t.cooldown, MaxCooldown: 8 * t.cooldown, Quiet: t.quiet,
	}
	if t.perZone {
		name, bound = "trial per zone", perZone(bound)
	}
	return policy{
		name:      fmt.Sprintf("%s: tolerations of %s, dwell %s, cooldown %s", name, short(t.tolerance), short(t.dwell), short(t.cooldown)),
		tolerance: t.tolerance,
		// Trials set the pace, not the rates. While all nodes seem to have failed, no pod is evicted, as without trials.
		sets: slices.Concat(set("config.nodeEvictionRate", "1"), set("config.secondaryNodeEvictionRate", "1"), set("config.unhealthyZoneThreshold", "1")),
		tune: func(c *evictor.Config, o *evictor.Options) {
			bounded(c, o, guard.Options{FalseAlarmWithin: t.alarm}, bound)
		},
	}
}

// trials are three designs, each for all nodes together and for each zone: pods wait as usual; or they hardly wait, so that a
// node that fails alone is soon empty; or they wait as long as is best without trials.
func trials(bestTolerance time.Duration) (all []policy) {
	tolerances := []time.Duration{usualTolerance, 30 * time.Second, bestTolerance}
	slices.Sort(tolerances)
	for _, tolerance := range slices.Compact(tolerances) {
		for _, perZone := range []bool{false, true} {
			for _, cooldown := range []time.Duration{time.Minute, 10 * time.Minute} {
				t := trial{perZone: perZone, tolerance: tolerance, dwell: 5 * time.Minute, alarm: 10 * time.Minute, cooldown: cooldown, quiet: 6 * time.Hour}
				all = append(all, t.policy())
			}
		}
	}
	return all
}
