package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }

// healthy is a node whose conditions are all well.
func healthy() *v1.Node {
	node := &v1.Node{}
	for _, kind := range []v1.NodeConditionType{v1.NodeReady, v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		status := v1.ConditionFalse
		if kind == v1.NodeReady {
			status = v1.ConditionTrue
		}
		node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{Type: kind, Status: status})
	}
	return node
}

func short(t v1.Taint) string {
	s := strings.TrimPrefix(t.Key, "node.kubernetes.io/") + ":" + string(t.Effect)
	if t.TimeAdded != nil {
		s += fmt.Sprintf("@%d", int(t.TimeAdded.Sub(epoch).Seconds()))
	}
	return s
}

// told is a plan in one line.
func told(p Plan) string {
	var parts []string
	for _, c := range p.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	for _, t := range p.Change.Add {
		parts = append(parts, "+"+short(t))
	}
	for _, t := range p.Change.Remove {
		parts = append(parts, "-"+short(t))
	}
	for _, key := range []string{"beta.kubernetes.io/os", "beta.kubernetes.io/arch"} {
		if value, ok := p.Labels[key]; ok {
			parts = append(parts, "label "+value)
		}
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"mark", p.Mark}, {"again", p.Again}, {"lift", p.Lift}} {
		if flag.set {
			parts = append(parts, flag.name)
		}
	}
	return strings.Join(parts, " ")
}

// world performs plans as the evictor does, on a node that shows them at once.
type world struct {
	Input
}

// failed is a node that has been silent for too long; its Unknown is written.
func failed() world {
	w := world{Input{Facts: Facts{Judged: true, Ready: v1.ConditionUnknown, Expired: true, Says: v1.ConditionUnknown, World: World{Now: at(0), TaintBased: true}}, Node: healthy()}}
	w.says(v1.ConditionUnknown)
	w.Node.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule}}
	return w
}

func (w *world) says(ready v1.ConditionStatus) {
	w.Says, w.Node.Status.Conditions[0].Status = ready, ready
}

// reports is a heartbeat, and what it says.
func (w *world) reports(ready v1.ConditionStatus) {
	w.says(ready)
	w.Beat = true
	w.Unwritten = false
}

// judged is a pass.
func (w *world) judged(ready v1.ConditionStatus, expired bool) {
	w.Judged, w.Ready, w.Expired, w.Beat = true, ready, expired, false
	w.Unwritten, w.Unmarked = expired, ready == v1.ConditionUnknown
}

func (w *world) perform(p Plan) {
	w.Node.Status.Conditions = Overlay(w.Node.Status.Conditions, p.Conditions)
	if len(p.Conditions) > 0 {
		w.Says, w.Unwritten = v1.ConditionUnknown, false
	}
	w.Node.Spec.Taints = p.Change.Apply(w.Node.Spec.Taints, w.Now)
	w.Carries, w.Turn = HasNoExecute(w.Node), false
	if p.Mark {
		w.Unmarked = false
	}
}

func (w *world) carries() string {
	var all []string
	for _, t := range w.Node.Spec.Taints {
		all = append(all, short(t))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

type step struct {
	what    string
	do      func(w *world)
	plan    string
	carries string
}

func tell(t *testing.T, w world, steps ...step) {
	t.Helper()
	for _, s := range steps {
		w.Now = w.Now.Add(10 * time.Second)
		s.do(&w)
		before := w.Node.DeepCopy()
		p := w.Plan()
		require.Equal(t, before, w.Node, "%s: it was only read", s.what)
		require.Equal(t, s.plan, told(p), s.what)
		require.Equal(t, s.plan == "", p.Nothing(), s.what)
		w.perform(p)
		require.Equal(t, s.carries, w.carries(), s.what)
		again := w.Plan()
		require.Empty(t, again.Change, "%s: once is enough", s.what)
	}
}

// A node falls silent, is tainted when its turn comes, and is lifted when it is Ready again.
func TestStoryOfAFailure(t *testing.T) {
	tell(t, world{Input{Node: healthy(), Facts: Facts{World: World{Now: at(0), TaintBased: true}, Says: v1.ConditionTrue}}},
		step{"it is seen", func(*world) {}, "", ""},
		step{"it is judged", func(w *world) { w.judged(v1.ConditionTrue, false) }, "", ""},
		step{"it falls silent", func(w *world) { w.judged(v1.ConditionUnknown, true) },
			"Ready=Unknown MemoryPressure=Unknown DiskPressure=Unknown PIDPressure=Unknown +unreachable:NoSchedule again", "unreachable:NoSchedule"},
		step{"others have had their turn", func(*world) {}, "mark", "unreachable:NoSchedule"},
		step{"its turn comes", func(w *world) { w.Turn = true }, "+unreachable:NoExecute", "unreachable:NoExecute@50 unreachable:NoSchedule"},
		step{"it stays silent", func(*world) {}, "", "unreachable:NoExecute@50 unreachable:NoSchedule"},
		step{"it reports Ready: its taints go together, with the verdict", func(w *world) { w.reports(v1.ConditionTrue) },
			"", "unreachable:NoExecute@50 unreachable:NoSchedule"},
		step{"the verdict follows", func(w *world) { w.judged(v1.ConditionTrue, false) }, "-unreachable:NoSchedule -unreachable:NoExecute@50 lift", ""},
	)
}

// A report of Ready comes between the verdict and the turn: the taint is planned from the verdict, and not written.
func TestStoryOfAReportAfterTheVerdict(t *testing.T) {
	w := failed()
	w.Turn = true
	p := w.Plan()
	require.Equal(t, "+unreachable:NoExecute", told(p))
	w.reports(v1.ConditionTrue)
	require.Equal(t, Reported, w.Standing())
	require.Equal(t, "NodeReady", w.Why())
	require.True(t, p.Harms())
	require.False(t, w.Taints(p.Tainted))
	p.Withhold()
	require.Equal(t, "", told(p))
	require.True(t, p.HeldBack)
}

// An operator holds a node that is tainted already, and lets it go again.
func TestStoryOfAHold(t *testing.T) {
	w := failed()
	tell(t, w,
		step{"tainted", func(w *world) { w.Turn = true }, "+unreachable:NoExecute", "unreachable:NoExecute@10 unreachable:NoSchedule"},
		step{"held: all that is ours is lifted", func(w *world) { w.Hold = "repair" }, "-unreachable:NoSchedule -unreachable:NoExecute@10 lift", ""},
		step{"no turn harms it", func(w *world) { w.Turn = true }, "", ""},
		step{"its operator cordons it, which is his", func(w *world) {
			w.Node.Spec.Unschedulable = true
			w.Node.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}, {Key: v1.TaintNodeDiskPressure, Effect: v1.TaintEffectNoSchedule}}
		}, "-disk-pressure:NoSchedule lift", "unschedulable:NoSchedule"},
		step{"another cordon's taint goes", func(w *world) { w.Node.Spec.Unschedulable = false }, "-unschedulable:NoSchedule lift", ""},
		step{"a stranger's stay", func(w *world) {
			w.Node.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoExecute}, {Key: "gpu", Effect: v1.TaintEffectNoSchedule}}
		}, "", "gpu:NoSchedule unschedulable:NoExecute"},
		step{"let go", func(w *world) { w.Hold, w.Node.Spec.Taints = "", nil }, "+unreachable:NoSchedule", "unreachable:NoSchedule"},
		step{"it waits for a new turn", func(*world) {}, "", "unreachable:NoSchedule"},
		step{"which comes", func(w *world) { w.Turn = true }, "+unreachable:NoExecute", "unreachable:NoExecute@90 unreachable:NoSchedule"},
	)
}

// What a kubelet says changes while it is tainted. It is one outage: the time of the first taint goes along.
func TestStoryOfASwap(t *testing.T) {
	tell(t, failed(),
		step{"tainted", func(w *world) { w.Turn = true }, "+unreachable:NoExecute", "unreachable:NoExecute@10 unreachable:NoSchedule"},
		step{"it is back, but not Ready", func(w *world) { w.reports(v1.ConditionFalse); w.judged(v1.ConditionFalse, false) },
			"+not-ready:NoSchedule +not-ready:NoExecute -unreachable:NoSchedule -unreachable:NoExecute@10", "not-ready:NoExecute@10 not-ready:NoSchedule"},
		step{"silent again, after a restart: the one that it has follows", func(w *world) { w.Settling = true; w.judged(v1.ConditionUnknown, true) },
			"Ready=Unknown MemoryPressure=Unknown DiskPressure=Unknown PIDPressure=Unknown +unreachable:NoSchedule +unreachable:NoExecute -not-ready:NoSchedule -not-ready:NoExecute@10", "unreachable:NoExecute@10 unreachable:NoSchedule"},
		step{"its grace is over: its pods are marked", func(w *world) { w.Settling = false }, "mark", "unreachable:NoExecute@10 unreachable:NoSchedule"},
		step{"a taint that tells no time has that of the outage", func(w *world) {
			w.judged(v1.ConditionFalse, false)
			w.says(v1.ConditionFalse)
			w.Node.Spec.Taints[1].TimeAdded = nil
			since := metav1.NewTime(at(10))
			w.Since = &since
		}, "+not-ready:NoSchedule +not-ready:NoExecute@10 -unreachable:NoSchedule -unreachable:NoExecute", "not-ready:NoExecute@10 not-ready:NoSchedule"},
		step{"its Ready condition is gone: nothing is known, and nothing changes", func(w *world) {
			w.judged("", false)
			w.Node.Status.Conditions = w.Node.Status.Conditions[1:]
			w.Says = ""
		}, "", "not-ready:NoExecute@10 not-ready:NoSchedule"},
	)
}

// Harm is not permitted for a while. Deadlines run on elsewhere; here nothing new is written, what only lifts is, and what is a
// swap waits as a whole.
func TestStoryOfAPermission(t *testing.T) {
	tell(t, failed(),
		step{"its turn came just before", func(w *world) { w.Turn, w.NoHarm = true, true }, "", "unreachable:NoSchedule"},
		step{"it is permitted", func(w *world) { w.Turn, w.NoHarm = true, false }, "+unreachable:NoExecute", "unreachable:NoExecute@20 unreachable:NoSchedule"},
		step{"not any more; a swap waits, and what is no part of it goes", func(w *world) {
			w.NoHarm = true
			w.reports(v1.ConditionFalse)
			w.judged(v1.ConditionFalse, false)
			w.Node.Spec.Taints = append(w.Node.Spec.Taints, v1.Taint{Key: v1.TaintNodeDiskPressure, Effect: v1.TaintEffectNoSchedule})
		}, "-disk-pressure:NoSchedule lift", "unreachable:NoExecute@20 unreachable:NoSchedule"},
		step{"it opens", func(w *world) { w.NoHarm = false },
			"+not-ready:NoSchedule +not-ready:NoExecute -unreachable:NoSchedule -unreachable:NoExecute@20", "not-ready:NoExecute@20 not-ready:NoSchedule"},
		step{"it closes, and the node recovers: recovery is never blocked", func(w *world) {
			w.NoHarm = true
			w.reports(v1.ConditionTrue)
			w.judged(v1.ConditionTrue, false)
		}, "-not-ready:NoSchedule -not-ready:NoExecute@20 lift", ""},
		step{"what of a condition comes with a lift waits for no worker of its own", func(w *world) {
			w.NoHarm = false
			w.Node.Status.Conditions[2].Status = v1.ConditionTrue
			w.Node.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}}
		}, "+disk-pressure:NoSchedule -not-ready:NoExecute lift", "disk-pressure:NoSchedule"},
		step{"that goes as well, permitted or not", func(w *world) {
			w.NoHarm = true
			w.Node.Status.Conditions[2].Status = v1.ConditionFalse
		}, "-disk-pressure:NoSchedule lift", ""},
		step{"the taint of a condition does not come now", func(w *world) { w.Node.Status.Conditions[1].Status = v1.ConditionTrue }, "", ""},
	)
}

// A permission closes between the plan and its write: what replaces waits, each effect by itself.
func TestPermissionThatClosesDuringAWrite(t *testing.T) {
	w := failed()
	w.Node.Spec.Taints = []v1.Taint{
		{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule},
		{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute},
		{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule},
		{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule},
	}
	p := w.Plan()
	require.Equal(t, "+unreachable:NoExecute -not-ready:NoExecute -memory-pressure:NoSchedule -not-ready:NoSchedule", told(p))
	require.True(t, p.Tainted)
	require.False(t, p.HeldBack)
	p.Withhold()
	require.Equal(t, "-memory-pressure:NoSchedule -not-ready:NoSchedule", told(p))
	require.True(t, p.HeldBack)
	require.False(t, p.Harms())
}

// Every zone goes down: what we wrote is lifted, and when it is over one more grace passes first.
func TestStoryOfAllZonesDown(t *testing.T) {
	tell(t, failed(),
		step{"tainted", func(w *world) { w.Turn = true }, "+unreachable:NoExecute", "unreachable:NoExecute@10 unreachable:NoSchedule"},
		step{"all are down", func(w *world) { w.AllDown = true; w.Unmarked = true }, "-unreachable:NoExecute@10 lift", "unreachable:NoSchedule"},
		step{"a turn is void", func(w *world) { w.Turn = true }, "", "unreachable:NoSchedule"},
		step{"one is up", func(w *world) { w.AllDown, w.Settling, w.Turn = false, true, true }, "", "unreachable:NoSchedule"},
		step{"a grace later", func(w *world) { w.Settling = false }, "mark", "unreachable:NoSchedule"},
		step{"its turn", func(w *world) { w.Turn = true }, "+unreachable:NoExecute", "unreachable:NoExecute@60 unreachable:NoSchedule"},
	)
}

// A new leader finds taints on a node before it has judged it.
func TestStoryOfATakeOver(t *testing.T) {
	w := failed()
	w.Judged, w.Ready = false, ""
	w.Node.Spec.Taints = append(w.Node.Spec.Taints, v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}, v1.Taint{Key: v1.TaintNodeDiskPressure, Effect: v1.TaintEffectNoSchedule})
	tell(t, w,
		step{"what harms stays, the conditions' follow", func(*world) {}, "-disk-pressure:NoSchedule lift", "not-ready:NoExecute unreachable:NoSchedule"},
		step{"also on a node that is held", func(w *world) { w.Hold = "repair" }, "", "not-ready:NoExecute unreachable:NoSchedule"},
		step{"until it is judged; that its pods are marked is no harm", func(w *world) { w.judged(v1.ConditionUnknown, false) },
			"-unreachable:NoSchedule -not-ready:NoExecute mark lift", ""},
	)
}
