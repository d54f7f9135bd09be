package evictor_test

import (
	"fmt"
	"math/rand"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
)

// livesHalf says which half of an evictor acts.
type livesHalf int

const (
	livesBoth livesHalf = iota
	livesLifecycle
	livesTaintEviction
)

// livesMode is what lives are played with: each has its test.
type livesMode struct {
	Taints bool
	Two    bool // two evictors, which may both lead
	Run    bool // under Run, else under Step
	Half   livesHalf
}

// livesPlan is a whole life: all that a seed says.
type livesPlan struct {
	livesMode
	Nodes  int
	Pods   int // on each node
	Zones  int
	Rate   float64
	Skew   [2]time.Duration // of the processes' wall clocks
	Events []livesEvent
	livesFeatures
	Choices *worldsChoices // of a small world
}

// active is for how long something happens, and then follows the quiet. Small worlds are short.
func (p livesPlan) active() time.Duration {
	if p.Choices != nil {
		return 180 * time.Second
	}
	return livesActive
}

func (p livesPlan) whole() time.Duration {
	if p.Choices != nil {
		return 480 * time.Second
	}
	return livesActive + livesQuiet
}

// livesFeatures are what most lives do without.
type livesFeatures struct {
	Exact    bool // NodeMonitorPeriod is 0
	Confirms bool // leases are read live
	Racks    bool // Options.Domain and Excluded go by other labels
	Hold     bool // Options.Hold goes by an annotation
	Prefer   bool // Options.Prefer prefers the last, nobody, or panics
	Policy   bool // Options.Policy
	Large    bool // zones are large from 4 nodes on
	MaxRate  float64
	May      bool // a Gate answers about evictions
	Turns    bool // and one about turns
}

// livesEvent is one thing that happens. Its numbers mean something only within the world in which they are applied, so
// that any event can be left out.
type livesEvent struct {
	at      time.Duration
	kind    string
	a, b, c int
	amid    bool // it happens in the middle of a Step: while the next write is under way
}

func (e livesEvent) String() string {
	text := fmt.Sprintf("%6s %-12s %d %d %d", e.at, e.kind, e.a, e.b, e.c)
	if e.amid {
		text += " amid a write"
	}
	return text
}

// ofPods says whether it happens in the middle of a write of a pod alone.
func (e livesEvent) ofPods() bool {
	return e.b%3 == 0 || slices.Contains([]string{"tolerate", "complete", "terminate", "replacepod", "deletepod", "replaceall"}, e.kind)
}

const (
	livesActive = 1500 * time.Second
	livesQuiet  = 1200 * time.Second

	livesZone    = v1.LabelTopologyZone
	livesExclude = "node.kubernetes.io/exclude-disruption"
	livesRack    = "rack"
	livesSpare   = "spare"
	livesHold    = "hold"
)

// domain is where a node belongs, and excluded whether it does not count there.
func (p livesPlan) domain(node *v1.Node) string {
	if p.Racks {
		return node.Labels[livesRack]
	}
	return node.Labels[livesZone]
}

func (p livesPlan) excluded(node *v1.Node) bool {
	label := livesExclude
	if p.Racks {
		label = livesSpare
	}
	_, excluded := node.Labels[label]
	return excluded
}

func (p livesPlan) config() evictor.Config {
	config := evictor.DefaultConfig()
	config.Nodes.TaintBasedEviction = p.Taints
	config.Nodes.PodEvictionTimeout = 120 * time.Second
	config.Nodes.NodeEvictionRate, config.Nodes.SecondaryNodeEvictionRate = p.Rate, p.Rate/2
	config.Nodes.NodeMonitorGracePeriod = 40 * time.Second
	config.Nodes.RetryMax = 30 * time.Second
	config.Nodes.MaxNodesPerSecond = p.MaxRate
	if p.Exact {
		config.Nodes.NodeMonitorPeriod = 0
	}
	if p.Large {
		config.Nodes.LargeClusterSizeThreshold = 4
	}
	return config
}

// livesKinds says how often each kind of event is drawn, of those that every life may have.
var livesKinds = []struct {
	kind   string
	weight int
}{
	{"kill", 24}, {"revive", 16}, {"notready", 5}, {"killzone", 3}, {"revivezone", 3}, {"killall", 2}, {"reviveall", 2},
	{"taint", 14}, {"untaint", 6}, {"retaint", 4}, {"forge", 5}, {"strip", 3}, {"replacenode", 3}, {"deletenode", 3}, {"createnode", 3},
	{"movezone", 3}, {"exclude", 2}, {"loseready", 2}, {"addpod", 5}, {"deletepod", 3}, {"replacepod", 5}, {"tolerate", 8}, {"complete", 4}, {"renew", 5},
	{"replaceall", 4}, {"terminate", 4}, {"cordon", 2}, {"relabel", 2}, {"holdlabel", 3}, {"policy", 4}, {"restore", 1}, {"storepanic", 1},
	{"budget", 4}, {"lag", 8}, {"relist", 3}, {"back", 4}, {"backlease", 2}, {"restart", 4}, {"takeover", 3}, {"split", 2}, {"freeze", 3}, {"clockback", 2},
	{"hold", 4}, {"release", 3}, {"pause", 4}, {"resume", 4}, {"fence", 6}, {"lead", 3}, {"blind", 5}, {"turns", 4}, {"setting", 2}, {"fault", 20}, {"kick", 2}, {"twice", 2},
}

// livesOfProcesses cannot happen while one of them is within a Step.
var livesOfProcesses = []string{"lag", "relist", "back", "backlease", "restart", "restore", "takeover", "split", "freeze", "clockback", "twice", "blind", "storepanic", "setting"}

func newLivesPlan(seed int64, mode livesMode) livesPlan {
	random := rand.New(rand.NewSource(seed))
	one := func(of int) bool { return random.Intn(of) == 0 }
	plan := livesPlan{livesMode: mode, Nodes: 2 + random.Intn(9), Pods: 1 + random.Intn(3), Zones: 1 + random.Intn(3),
		Rate: []float64{0.1, 0.1, 0.05, 0.5}[random.Intn(4)]}
	if one(6) {
		plan.Nodes, plan.Zones = 8+random.Intn(6), 3+random.Intn(5)
	}
	plan.Exact, plan.Racks, plan.Hold, plan.Prefer, plan.Policy, plan.Large = one(4), one(5), one(4), one(5), one(5), one(5)
	plan.MaxRate, plan.May, plan.Turns = []float64{0.1, 0, 0, 0, 0, 0}[random.Intn(6)], newLivesMay(seed), one(4)
	for i := range plan.Skew {
		plan.Skew[i] = []time.Duration{0, 0, 0, 30 * time.Second, -90 * time.Second, 7 * time.Minute}[random.Intn(6)]
	}
	total := 0
	for _, kind := range livesKinds {
		total += kind.weight
	}
	// Some lives are quiet but for a few kinds of events: what happens alone is seen more clearly.
	picky := one(3)
	chosen := map[string]bool{"kill": true, "revive": true}
	for range 4 {
		chosen[livesKinds[random.Intn(len(livesKinds))].kind] = true
	}
	for range 20 + random.Intn(80) {
		draw, kind := random.Intn(total), ""
		for _, candidate := range livesKinds {
			if draw -= candidate.weight; draw < 0 {
				kind = candidate.kind
				break
			}
		}
		event := livesEvent{time.Duration(random.Intn(int(livesActive/time.Second))) * time.Second, kind, random.Intn(1 << 16), random.Intn(1 << 16), random.Intn(1 << 16), false}
		event.amid = (event.c%3 == 0 || slices.Contains([]string{"replaceall", "fault"}, kind) && event.c%2 == 0) && !mode.Run && (!slices.Contains(livesOfProcesses, kind) || kind == "blind")
		if !picky || chosen[kind] {
			plan.Events = append(plan.Events, event)
		}
	}
	if one(3) {
		plan.Events = append(plan.Events, livesBrake(random, plan)...)
	}
	livesLoses(&plan, rand.New(rand.NewSource(seed+1<<40)))
	slices.SortStableFunc(plan.Events, func(a, b livesEvent) int { return int(a.at - b.at) })
	return plan
}

// String is the life but for its events.
func (p livesPlan) String() string {
	return fmt.Sprintf("%+v, %d nodes in %d zones with %d pods each, rate %v, skew %v, %+v", p.livesMode, p.Nodes, p.Zones, p.Pods, p.Rate, p.Skew, p.livesFeatures)
}

// livesShrink leaves out features, events, nodes and pods as long as the same rule is broken.
func livesShrink(plan livesPlan, rule string, play func(livesPlan) *livesJudge) (livesPlan, string) {
	message := ""
	fails := func(candidate livesPlan) bool {
		judge := play(candidate)
		if judge.rule == rule {
			message = judge.message
		}
		return judge.rule == rule
	}
	try := func(simpler func(*livesPlan)) {
		candidate := plan
		if simpler(&candidate); candidate.Pods > 0 && fails(candidate) {
			plan = candidate
		}
	}
	for size := max(1, len(plan.Events)/2); size >= 1; size /= 2 {
		for again := true; again; {
			again = false
			for from := 0; from < len(plan.Events); {
				shorter := plan
				shorter.Events = slices.Delete(slices.Clone(plan.Events), from, min(from+size, len(plan.Events)))
				if fails(shorter) {
					plan, again = shorter, size == 1
				} else {
					from += size
				}
			}
		}
	}
	for _, simpler := range []func(*livesPlan){
		func(p *livesPlan) { p.Two = false }, func(p *livesPlan) { p.Pods-- }, func(p *livesPlan) { p.Pods-- }, func(p *livesPlan) { p.Skew = [2]time.Duration{} },
		func(p *livesPlan) { p.Confirms = false }, func(p *livesPlan) { p.Exact = false }, func(p *livesPlan) { p.Racks = false }, func(p *livesPlan) { p.Hold = false }, func(p *livesPlan) { p.Prefer = false },
		func(p *livesPlan) { p.Policy = false }, func(p *livesPlan) { p.Large = false }, func(p *livesPlan) { p.MaxRate = 0 },
		func(p *livesPlan) { p.May = false }, func(p *livesPlan) { p.Turns = false }, func(p *livesPlan) { p.Half = livesBoth },
	} {
		try(simpler)
	}
	fails(plan)
	return plan, message
}
