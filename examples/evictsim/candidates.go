package main

import (
	"slices"
	"time"
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
