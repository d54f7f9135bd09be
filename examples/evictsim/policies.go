package main

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
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
	{name: "20 % of a zone (Karpenter)", tune: budgeted(perZone(budget.Bound{Name: "a fifth", Of: budget.Bad, Max: budget.Percent(20).Up()}))},
	{name: "range 1 to 10 % (Cluster API)", tune: budgeted(budget.Bound{Name: "unhealthyRange", Of: budget.Bad, Min: budget.Count(1), Max: budget.Percent(10)})},
	{name: "breaker: 5 % in 10 min", tune: budgeted(
		budget.Bound{Name: "recent", Of: budget.Recent, Within: 10 * time.Minute, Max: budget.Percent(5).Up()},
		budget.Bound{Name: "storm", Of: budget.Bad, Max: budget.Percent(25), Quiet: 10 * time.Minute},
	)},
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

func perZone(b budget.Bound) budget.Bound {
	b.Per = "zone"
	return b
}

// budgetInterval is how soon the evictor tries a node again that a budget refused. Records are long: every second would be too
// much work.
const budgetInterval = 30 * time.Second

// budgeted replaces the zone policy by bounds. While one is exceeded, pending evictions wait.
func budgeted(bounds ...budget.Bound) func(*evictor.Config, *evictor.Options) {
	return func(c *evictor.Config, o *evictor.Options) {
		noBrake(c, o)
		bounded(c, o, guard.Options{Exceeded: func(*budget.Refusal) (wait bool) { return true }}, bounds...)
	}
}

// bounded adds bounds to the zone policy.
func bounded(c *evictor.Config, o *evictor.Options, with guard.Options, bounds ...budget.Bound) {
	c.Nodes.GateInterval = budgetInterval
	b, err := budget.New(budget.Config[string, guard.Member]{
		Dimensions: map[string]func(guard.Member) (string, bool){
			"zone": func(m guard.Member) (string, bool) { return m.Domain.String(), true },
		},
		Bad: func(m guard.Member) bool { return !m.Ready }, Clock: o.Clock, Bounds: bounds,
	})
	if err != nil {
		panic(err) //nolint:forbidigo // a bound in policies is invalid
	}
	g, err := guard.New(b, c.Nodes, with)
	if err != nil {
		panic(err) //nolint:forbidigo // as above
	}
	*o = g.On(*o)
}
