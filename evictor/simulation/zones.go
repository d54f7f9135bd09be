package simulation

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// ZoneReport is the result for one zone.
type ZoneReport struct {
	Name string // region:zone

	Nodes           int           `figure:""` // at the end
	Pods            int           `figure:""` // at the start, without those of DaemonSets and completed ones
	LowestNodes     int           `figure:""`
	Below           time.Duration `figure:""` // how long fewer nodes were live than there are, in all
	BelowHalf       time.Duration `figure:""` // how long fewer than half of them were, in all
	KubeletFailures int           `figure:""`
	UnknownNodes    int           `figure:""`
	Taints          int           `figure:""`
	Evicted         int           `figure:""`
	FirstEviction   time.Duration `figure:""` // 0 if there was none, like the last
	LastEviction    time.Duration `figure:""`
	NodesWaited     time.Duration `figure:""` // how long at least one waited, in all
	// Limits are what nodes waited for while they were not Ready and not yet tainted, in the order in which that began.
	Limits []Limit
}

// Limit is the state of a zone while some of its nodes waited for their taint.
type Limit struct {
	State           string        // of the zone; AllZonesDisrupted if every zone was down
	Rate            float64       // nodes a second
	From            time.Duration // when the first node began to wait
	Ready, NotReady int           // when the state began
	Waited          time.Duration // for how long at least one node waited
	Most            int           // the most nodes that waited at a time
}

// zoneRecord is one zone while the simulation runs.
type zoneRecord struct {
	told    ZoneReport
	nodes   level
	limit   Limit // the current one
	waiting int   // nodes
	since   int64 // when limit or waiting last changed
}

// zoneOf returns the record of a node's zone.
func (c *cluster) zoneOf(n *node) *zoneRecord { return c.zoneNamed(n.zone.String()) }

func (c *cluster) zoneNamed(name string) *zoneRecord {
	z, ok := c.zones[name]
	if !ok {
		z = &zoneRecord{told: ZoneReport{Name: name}}
		c.zones[name] = z
	}
	return z
}

// waits says whether a node is not Ready, and without a NoExecute taint of ours.
func (n *node) waits() bool {
	i := findCondition(n.conditions, v1.NodeReady)
	return i >= 0 && n.conditions[i].Status != v1.ConditionTrue && !tainted(n)
}

// inZone counts a node in its zone (+1), or no longer (-1).
func (c *cluster) inZone(a nodeAccount, by int) {
	if !a.exists {
		return
	}
	z, alive := c.zoneNamed(a.zone.String()), 0
	if a.alive {
		alive = by
	}
	z.nodes.change(c.now(), by, alive)
	if !a.waits {
		return
	}
	z.pass(c.now())
	if by > 0 && z.waiting == 0 && z.limit.Waited == 0 {
		z.limit.From = c.Clock.Elapsed()
	}
	z.waiting += by
}

// pass accounts for the time of the current limit since the last change.
func (z *zoneRecord) pass(now int64) {
	if z.waiting > 0 && now > z.since {
		z.limit.Waited += time.Duration(now - z.since)
		z.limit.Most = max(z.limit.Most, z.waiting)
	}
	z.since = now
}

// limits takes over what a line says about a zone, or about all zones.
func (c *cluster) limits(l *timeline.Line) {
	now := c.now()
	switch {
	case l.Kind == timeline.KindZone:
		z := c.zoneNamed(l.Zone)
		z.enters(now, Limit{State: l.State, Rate: l.Rate, From: l.T, Ready: l.Ready, NotReady: l.NotReady})
	case l.Kind == timeline.KindCluster && l.State == timeline.AllZonesDisrupted:
		for _, z := range c.zones {
			z.enters(now, Limit{State: l.State, From: l.T, Ready: z.limit.Ready, NotReady: z.limit.NotReady})
		}
	}
}

// enters ends a limit, and starts the next. While every zone is down a zone's own state does not count.
func (z *zoneRecord) enters(now int64, next Limit) {
	z.pass(now)
	if z.limit.State == timeline.AllZonesDisrupted && next.Rate == 0 && next.From == z.limit.From {
		z.limit.Ready, z.limit.NotReady = next.Ready, next.NotReady
		return
	}
	known := z.limit.Ready+z.limit.NotReady > 0 // upstream does not report counts and rate of zones
	if z.limit.Waited > 0 && (known || z.limit.State == timeline.AllZonesDisrupted) {
		z.told.Limits = append(z.told.Limits, z.limit)
	}
	z.limit = next
}

func (z *zoneRecord) evicted(now int64) {
	if z.told.Evicted == 0 {
		z.told.FirstEviction = time.Duration(now)
	}
	z.told.LastEviction = time.Duration(now)
	z.told.Evicted++
}

// reportZones finishes the records.
func (c *cluster) reportZones() (zones []ZoneReport) {
	for _, z := range c.zones {
		z.enters(c.now(), Limit{})
		nodes := z.nodes.report(c.now())
		z.told.Nodes, z.told.LowestNodes, z.told.NodesWaited = nodes.Desired, nodes.LowestReady, 0
		z.told.Below, z.told.BelowHalf = nodes.Below, nodes.BelowHalf
		for i := range z.told.Limits {
			z.told.NodesWaited += z.told.Limits[i].Waited
		}
		zones = append(zones, z.told)
	}
	slices.SortFunc(zones, func(a, b ZoneReport) int { return cmp.Compare(a.Name, b.Name) })
	return zones
}

// countPods counts the pods of each zone, and returns how many pods are of DaemonSets.
func (c *cluster) countPods() (daemons int) {
	for i := range c.pods {
		if p := &c.pods[i]; p.node >= 0 && p.spec.ofDaemonSet() {
			daemons++
		}
	}
	for i := range c.unbound {
		if c.unbound[i].spec.ofDaemonSet() {
			daemons++
		}
	}
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.deleted {
			c.zoneOf(n).told.Pods += int(n.pods - n.finished)
		}
	}
	return daemons
}
