package simulation

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// ZoneReport is the result for one zone.
type ZoneReport struct {
	Name string // region:zone

	Nodes        int `figure:""` // at the end
	Pods         int `figure:""` // at the start, without those of DaemonSets and completed ones
	LowestNodes  int `figure:""`
	MostLost, Of int // the most nodes that were not live at one time, and how many there were then
	Lows
	KubeletFailures int           `figure:""`
	UnknownNodes    int           `figure:""`
	Taints          int           `figure:""`
	Evicted         int           `figure:""`
	FirstEviction   time.Duration `figure:"Evicted"` // 0 if there was none, like the last
	LastEviction    time.Duration `figure:"Evicted"`
	NodesWaited     time.Duration `figure:""` // how long at least one waited, in all
	// Limits are what nodes waited for while they were not Ready and not yet tainted or emptied, in the order in which that began.
	Limits []Limit
}

// zoneRecord is one zone while the simulation runs.
type zoneRecord struct {
	told  ZoneReport
	nodes level
	limits
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

// reportZones finishes the records.
func (c *cluster) reportZones() (zones []ZoneReport) {
	for _, z := range c.zones {
		z.end(c.now())
		nodes := z.nodes.report(c.now())
		z.told.Nodes, z.told.LowestNodes, z.told.NodesWaited = nodes.Desired, nodes.LowestReady, 0
		z.told.MostLost, z.told.Of, z.told.Lows = z.nodes.most, z.nodes.of, nodes.Lows
		z.told.Limits = z.all
		for i := range z.all {
			if l := &z.all[i]; l.Held == "" && l.Refused == "" {
				z.told.NodesWaited += l.Waited
			}
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
		if n := &c.nodes[i]; !n.Deleted {
			c.zoneOf(n).told.Pods += int(n.Pods - n.finished)
		}
	}
	return daemons
}

// waits says whether a node is not Ready, and without a NoExecute taint of ours.
func (n *node) waits() bool {
	i := placement.FindCondition(n.Conditions, v1.NodeReady)
	return i >= 0 && n.Conditions[i].Status != v1.ConditionTrue && !tainted(n)
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
	if a.waits {
		z.waits(c.now(), a.hindrance, by)
	}
}
