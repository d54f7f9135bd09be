package main

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/zone"
)

// policy is a row of the benchmark: settings, and a function for what settings cannot express. Add yours to policies.
type policy struct {
	name       string
	tolerance  time.Duration // of all pods; 0 means the API server's default of 5 minutes
	sets       []scenariofile.Set
	tune       func(*evictor.Config, *evictor.Options) // changes each new evictor; may be nil
	ofUpstream bool                                    // kube-controller-manager supports it too
}

// usualTolerance is the API server's default for pods.
const usualTolerance = 5 * time.Minute

func (p *policy) toleration() int64 {
	if p.tolerance == 0 {
		return int64(usualTolerance / time.Second)
	}
	return int64(p.tolerance / time.Second)
}

var policies = []policy{
	{name: "defaults", ofUpstream: true},
	{name: "tolerations of 30 s", tolerance: 30 * time.Second},
	{name: "tolerations of 30 min", tolerance: 30 * time.Minute},
	{name: "rate 0.01/s", sets: set("config.nodeEvictionRate", "0.01")},
	{name: "rate 1/s", sets: set("config.nodeEvictionRate", "1")},
	{name: "threshold 0.3", sets: set("config.unhealthyZoneThreshold", "0.3")},
	{name: "threshold 0.8", sets: set("config.unhealthyZoneThreshold", "0.8")},
	// Two of the settings that drill names beside today's for the recorded cluster, where it advises neither: less time lost for more
	// evictions of pods that run, and the reverse.
	{name: "drill: rate 0.5/s, tolerations of 15 min", tolerance: 15 * time.Minute, sets: set("config.nodeEvictionRate", "0.5")},
	{name: "drill: tolerations of 15 min", tolerance: 15 * time.Minute},
	{name: "one zone", tune: oneZone},
	{name: "no brake", tune: noBrake},
}

func set(path, value string) []scenariofile.Set {
	return []scenariofile.Set{{Path: path, Value: value}}
}

// oneZone makes the whole cluster one domain, as if nodes had no zone labels.
func oneZone(_ *evictor.Config, o *evictor.Options) {
	o.Domain = func(*v1.Node) zone.Key { return zone.Key{} }
}

// noBrake evicts every domain at the same rate, however many of its nodes are not Ready.
func noBrake(c *evictor.Config, o *evictor.Options) {
	rate := c.Nodes.NodeEvictionRate
	o.Policy = zone.PolicyFunc(func(zone.Situation) zone.Ruling { return zone.Ruling{State: zone.Normal, Rate: rate} })
}
