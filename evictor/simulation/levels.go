package simulation

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// level tracks how many of the desired members are live over time. States that last for no time do not count.
type level struct {
	desired, have   int
	lowest          int // since some were desired
	least, ofLeast  int // the smallest share of the desired ones
	lowestAt, since int64
	below           int64 // time with fewer live members than desired
	most, of        int   // the most that were lacking, and how many were desired then
	belowHalf       stretch
	lacking         float64 // in nanoseconds, the time below, summed over the missing members
	counted         bool    // some time has passed

	need      func(desired int) int // of a budget; nil if none
	belowNeed stretch
	mostBelow int
}

// stretch is how long something held, in all, the longest time without a break, and now.
type stretch struct{ sum, longest, now int64 }

func (s *stretch) pass(took int64, holds bool) {
	if !holds {
		s.now = 0
		return
	}
	s.sum += took
	s.now += took
	s.longest = max(s.longest, s.now)
}

// pass accounts for the time since the last change.
func (l *level) pass(now int64) {
	took := now - l.since
	if took == 0 {
		return
	}
	if l.counted && l.have < l.lowest || !l.counted && l.desired > 0 {
		l.lowest, l.lowestAt, l.counted = l.have, l.since, true
	}
	if l.have*l.ofLeast < l.least*l.desired || l.ofLeast == 0 {
		l.least, l.ofLeast = l.have, l.desired
	}
	if l.have < l.desired {
		l.below += took
		if lacking := l.desired - l.have; lacking > l.most {
			l.most, l.of = lacking, l.desired
		}
		l.lacking += float64(took) * float64(l.desired-l.have)
	}
	l.belowHalf.pass(took, l.halved())
	lacks := l.lacks()
	l.belowNeed.pass(took, lacks > 0)
	l.mostBelow = max(l.mostBelow, lacks)
	l.since = now
}

// lacks returns how many live members a budget is short of.
func (l *level) lacks() int {
	if l.need == nil || l.desired == 0 {
		return 0
	}
	return max(l.need(l.desired)-l.have, 0)
}

// halved reports whether fewer than half are live.
func (l *level) halved() bool { return 2*l.have < l.desired }

func (l *level) change(now int64, desired, have int) {
	l.pass(now)
	l.desired, l.have = l.desired+desired, l.have+have
}

// Lows say when and for how long too few were live.
type Lows struct {
	LowestAt  time.Duration // when the lowest number began
	Below     time.Duration `figure:""` // how long fewer were live than there should be, in all
	BelowHalf time.Duration `figure:""` // how long fewer than half were, in all
}

// Level says how many of the desired members were live.
type Level struct {
	Desired          int     `figure:""`
	LowestReady      int     `figure:""` // the fewest live members at any time
	LowestReadyShare float64 `figure:""` // of those desired; 1 if none are
	Lows
	LongestBelowHalf time.Duration `figure:""`
	PodHoursMissing  float64       `figure:""` // the time below, summed over the missing members
	ReadyAtEnd       int           `figure:""`
}

// inHours is Duration.Hours of what may be too long for a Duration.
func inHours(nanoseconds float64) float64 {
	whole := math.Floor(nanoseconds / float64(time.Hour))
	return whole + (nanoseconds-whole*float64(time.Hour))/float64(time.Hour)
}

func (l *level) report(now int64) Level {
	l.pass(now)
	lowest, least, of, share := l.lowest, l.least, l.ofLeast, 1.0
	if !l.counted {
		lowest, least, of = l.have, l.have, l.desired
	}
	if of > 0 {
		share = float64(least) / float64(of)
	}
	return Level{
		Desired: l.desired, LowestReady: lowest, LowestReadyShare: share, ReadyAtEnd: l.have,
		Lows:             Lows{time.Duration(l.lowestAt), time.Duration(l.below), time.Duration(l.belowHalf.sum)},
		LongestBelowHalf: time.Duration(l.belowHalf.longest), PodHoursMissing: inHours(l.lacking),
	}
}

// WorkloadReport is the result for the pods of one controller. Pods of a Deployment's ReplicaSets count for the Deployment.
type WorkloadReport struct {
	types.NamespacedName
	Kind string
	Level
	Budgets     int           // how many PodDisruptionBudgets select its pods
	BelowBudget time.Duration `figure:""` // how long at least one of these was not kept, in all
	Unserved
}

// BudgetReport is the result for the pods of a PodDisruptionBudget. Deletions ignore it.
type BudgetReport struct {
	types.NamespacedName
	Desired      int           `figure:""`
	Needed       int           `figure:""` // how many must be live
	LowestReady  int           `figure:""`
	Below        time.Duration `figure:""` // how long fewer than Needed were live, in all
	LongestBelow time.Duration `figure:""`
	MostBelow    int           `figure:""` // the largest number missing
	Refusals
}

// workload is one controller's pods.
type workload struct {
	workloadKey
	level
	pods    int     // that exist, bound to a node
	budgets []int32 // that select pods of it
	broken  while   // of these, those that are not kept
	unserved
}

type workloadKey struct{ namespace, kind, name string }

// membership is the workload and the budgets that a group of pods counts for.
type membership struct {
	memberKey
	workload int32 // -1 if none
	budgets  []int32
}

type memberKey struct {
	workloadKey
	labels *placement.Labels
}

// levels holds the levels of all workloads and budgets.
type levels struct {
	workloads []workload
	byKey     map[workloadKey]int32
	members   []membership
	memberOf  map[memberKey]int32
	budgets   []budget

	halved while // workloads with fewer than half of their pods live
}

// while is how long at least one of some things held, and how many hold now.
type while struct {
	count       int
	since, took int64
}

// pass counts more of them, or fewer, from now on.
func (w *while) pass(now int64, by int) {
	if w.count > 0 {
		w.took += now - w.since
	}
	w.count, w.since = w.count+by, now
}

// sign counts one more of what begins to hold, and one fewer of what ceases to.
var sign = map[bool]int{true: 1, false: -1}

// member returns the number of a pod's membership, from 1. Mirror pods and those without a controller belong to no
// workload.
func (c *cluster) member(namespace, kind, name string, set *placement.Labels) int32 {
	key := memberKey{workloadKey{namespace, kind, name}, set}
	none := kind == "" || kind == "Node"
	if none {
		key.name = "" // all are alike
	}
	l := &c.levels
	if i, ok := l.memberOf[key]; ok {
		return i
	}
	g := membership{memberKey: key, workload: -1}
	if !none {
		i, ok := l.byKey[key.workloadKey]
		if !ok {
			i = int32(len(l.workloads))
			l.workloads = append(l.workloads, workload{workloadKey: key.workloadKey})
			l.byKey[key.workloadKey] = i
		}
		g.workload = i
	}
	l.members = append(l.members, g)
	for i := range l.budgets {
		c.under(int32(len(l.members)-1), int32(i))
	}
	l.memberOf[key] = int32(len(l.members))
	return int32(len(l.members))
}

// ControllerOf returns the controller that a pod counts for in figures.
func ControllerOf(pod *metav1.ObjectMeta) (kind, name string) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return "", ""
	}
	if hash := pod.Labels["pod-template-hash"]; owner.Kind == "ReplicaSet" && hash != "" {
		if deployment, ok := strings.CutSuffix(owner.Name, "-"+hash); ok {
			return "Deployment", deployment
		}
	}
	return owner.Kind, owner.Name
}

// counts reports whether the pod counts as one of its workload's desired pods.
func (c *cluster) counts(p *pod) bool {
	return !p.terminating && p.spec.OwnerKind != "DaemonSet" && !p.phase.finished()
}

// leveled changes the desired and live numbers of a group's workload and budgets.
func (c *cluster) leveled(number int32, desired, have int) {
	if number == 0 {
		return
	}
	now, g := c.now(), &c.levels.members[number-1]
	if g.workload >= 0 {
		w := &c.levels.workloads[g.workload]
		was := w.halved()
		w.change(now, desired, have)
		if is := w.halved(); is != was {
			c.levels.halved.pass(now, sign[is])
		}
		for i := 0; desired != 0 && i < len(w.budgets) && hasScale(w.kind); i++ {
			if b := w.budgets[i]; c.levels.budgets[b].byScale {
				c.levels.changeBudget(now, b, desired, 0)
			}
		}
	}
	for _, b := range g.budgets {
		wanted := desired
		if c.levels.budgets[b].byScale {
			wanted = 0
		}
		c.levels.changeBudget(now, b, wanted, have)
	}
}

// lives counts a pod as live for its workload and its budgets.
func (c *cluster) lives(i int32, by int) { c.leveled(c.pods[i].member, 0, by) }

func (l *levels) report(now int64) (workloads []WorkloadReport, budgets []BudgetReport) {
	for i := range l.workloads {
		if w := &l.workloads[i]; w.desired > 0 {
			w.broken.pass(now, 0)
			workloads = append(workloads, WorkloadReport{
				types.NamespacedName{Namespace: w.namespace, Name: w.name}, w.kind, w.level.report(now), len(w.budgets), time.Duration(w.broken.took),
				w.Unserved,
			})
		}
	}
	slices.SortFunc(workloads, func(a, b WorkloadReport) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for i := range l.budgets {
		b := &l.budgets[i]
		l := b.level.report(now)
		budgets = append(budgets, BudgetReport{
			NamespacedName: types.NamespacedName{Namespace: b.namespace, Name: b.name}, Desired: l.Desired, Needed: b.need(b.desired), LowestReady: l.LowestReady,
			Below: time.Duration(b.belowNeed.sum), LongestBelow: time.Duration(b.belowNeed.longest), MostBelow: b.mostBelow,
			Refusals: b.Refusals,
		})
	}
	slices.SortFunc(budgets, func(a, b BudgetReport) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return workloads, budgets
}
