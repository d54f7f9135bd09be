package twins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/conformance/controllermanager"
)

// twin makes scenarios for one of upstream's parts.
type twin struct {
	name string // as pages call it
	make func(g *generator) *scene
}

var twins = []twin{
	{"PodGC", (*generator).podGC},
	{"ReplicaSet controller", (*generator).replicaSets},
	{"StatefulSet controller", (*generator).statefulSets},
	{"Job controller", (*generator).jobs},
	{"disruption controller", (*generator).budgets},
	{"eviction subresource", (*generator).answers},
	{"kubectl drain", (*generator).drains},
}

// scene makes the scenario of a seed.
func (w twin) scene(seed uint64) *scene {
	return w.make(&generator{rand.New(rand.NewPCG(seed, uint64(len(w.name)))), seed})
}

type generator struct {
	*rand.Rand
	seed uint64
}

func (g *generator) one(percent int) bool { return g.IntN(100) < percent }

// offGrid keeps events off the instants at which PodGC, a monitor or a scheduler do something: the order within one instant is
// a matter of SCENARIO.md, not of Kubernetes.
const offGrid = 250 * time.Millisecond

func (g *generator) seconds(from, to int) time.Duration {
	return time.Duration(from+g.IntN(to-from)) * time.Second
}

// new begins a scenario.
func (g *generator) new(nodes int, until time.Duration, controllers ...string) *scene {
	s := &scene{cast: clusterOf(nodes), file: scenariofile.New(), controllers: controllers}
	s.file.Until = until
	// Then no node becomes Unknown, and no taint evicts, at an instant at which PodGC passes or a pod that it removed comes back.
	s.file.Config.NodeMonitorPeriod, s.file.Config.NodeMonitorGracePeriod = 0, 46900*time.Millisecond
	s.file.Reschedule = &scenariofile.Reschedule{After: ptr.To([]time.Duration{10 * time.Second, 7300 * time.Millisecond, time.Second}[g.IntN(3)])}
	return s
}

// podGC has out-of-service and deleted nodes.
func (g *generator) podGC() *scene {
	s := g.new(5+g.IntN(3), 40*time.Minute, "podgc")
	s.replicaSet("web", 4+g.IntN(4))
	if g.one(50) {
		s.statefulSet("db", 2+g.IntN(3), appsv1.OrderedReadyPodManagement)
	}
	if g.one(25) { // nobody makes pods
		s.file.Reschedule = nil
	}
	g.happen(s, "ffroonnpR")
	return s
}

func (g *generator) replicaSets() *scene {
	s := g.new(4+g.IntN(4), 75*time.Minute, "replicaset")
	s.replicaSet("web", 3+g.IntN(10))
	if g.one(50) {
		s.replicaSet("api", 1+g.IntN(4))
		s.statefulSet("db", 2+g.IntN(3), appsv1.OrderedReadyPodManagement)
		s.controllers = append(s.controllers, "statefulset")
	} else if g.one(30) {
		g.full(s)
	}
	g.happen(s, usual)
	return s
}

func (g *generator) statefulSets() *scene {
	s := g.new(4+g.IntN(4), 75*time.Minute, "statefulset")
	policies := []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement}
	s.statefulSet("db", 2+g.IntN(8), policies[g.IntN(2)])
	if g.one(50) {
		s.statefulSet("kv", 2+g.IntN(4), policies[g.IntN(2)])
		s.replicaSet("web", 3+g.IntN(5))
		s.controllers = append(s.controllers, "replicaset")
	} else if g.one(30) {
		g.full(s)
	}
	g.happen(s, usual)
	return s
}

func (g *generator) jobs() *scene {
	s := g.new(4+g.IntN(4), 75*time.Minute, "job")
	kinds := usual
	switch g.IntN(4) {
	case 0:
		s.job("nightly", 2+g.IntN(3), g.IntN(7), batchv1.Failed)
	case 1:
		ignoring(s.job("nightly", 2+g.IntN(3), g.IntN(7), batchv1.Failed))
		kinds, s.disrupts = "ffrpDDu", true // nobody deletes pods but those who say so
	default:
		if j := s.job("batch", 2+g.IntN(5), 3+g.IntN(10), batchv1.TerminatingOrFailed); g.one(40) {
			s.index(j)
		}
	}
	g.happen(s, kinds)
	for i := range s.file.Events { // none at the instant at which the controller looks, a second after another one
		s.file.Events[i].At += time.Duration(i) * 20 * time.Millisecond
	}
	return s
}

// full leaves room for two pods on a node, so that pods are pending.
func (g *generator) full(s *scene) {
	for _, node := range s.nodes {
		node.Status.Capacity["cpu"] = resource.MustParse("0.25")
	}
}

// usual are the kinds of events for those who replace pods.
const usual = "ffrpddFDuotna"

// happen makes events, some within seconds of each other. Each letter is a kind.
func (g *generator) happen(s *scene, kinds string) {
	down, drained, gone := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	at, added := offGrid, 0
	for range 8 + g.IntN(12) {
		at += g.seconds(1, 2+g.IntN(400))
		node := s.nodes[g.IntN(len(s.nodes))].Name
		on := &simulation.Nodes{Names: []string{node}}
		if gone[node] {
			continue
		}
		e := simulation.Event{At: at}
		switch kind := kinds[g.IntN(len(kinds))]; {
		case kind == 'f' && !down[node]:
			e.Fail, down[node] = on, true
		case kind == 'p' && !down[node]:
			e.Partition, down[node] = &simulation.Partition{Nodes: *on}, true
		case (kind == 'r' || kind == 'f' && g.one(30)) && down[node]:
			e.Recover, down[node] = on, false
		case kind == 'o' && down[node]:
			e.OutOfService = on
		case kind == 'd':
			e.DeletePod = &simulation.Pod{Name: "default/" + s.pods[g.IntN(len(s.pods))].Name}
		case kind == 'F':
			e.ForceDelete = &simulation.Pod{Name: "default/" + s.pods[g.IntN(len(s.pods))].Name}
		case kind == 'D':
			e.Drain, drained[node] = &simulation.Drain{Nodes: *on}, true
		case kind == 'u' && drained[node]:
			e.Uncordon, drained[node] = on, false
		case kind == 't':
			e.Taint = &simulation.Taint{Nodes: *on, NodeTaint: simulation.NodeTaint{Key: "spot", Value: strconv.Itoa(g.IntN(2)), Effect: v1.TaintEffectNoExecute}}
		case kind == 'n' && len(gone) < 2:
			e.DeleteNode, gone[node] = on, true
		case kind == 'R' && len(gone) < 2:
			e.ReplaceNode, gone[node] = &simulation.ReplaceNode{Nodes: *on, After: g.seconds(5, 120)}, true
		case kind == 'a':
			added++
			e.AddNode = &simulation.AddNode{Name: fmt.Sprint("added-", added), Zone: "za"}
		default:
			continue
		}
		s.file.Events = append(s.file.Events, e)
	}
	for _, node := range s.nodes { // half of the machines come back
		if down[node.Name] && !gone[node.Name] && g.one(50) {
			s.file.Events = append(s.file.Events, simulation.Event{At: at + g.seconds(300, 1500), Recover: &simulation.Nodes{Names: []string{node.Name}}})
		}
	}
	s.sort()
}

func (s *scene) sort() {
	slices.SortStableFunc(s.file.Events, func(a, b simulation.Event) int { return int(a.At - b.At) })
}

// rule is that of a random budget over n pods.
func (g *generator) rule(n int) (least, most *intstr.IntOrString) {
	v := intstr.FromInt32(int32(g.IntN(n + 2)))
	if g.one(50) {
		v = intstr.FromString(fmt.Sprintf("%d%%", g.IntN(11)*10))
	}
	if g.one(50) {
		return &v, nil
	}
	return nil, &v
}

func (g *generator) policy() *policyv1.UnhealthyPodEvictionPolicyType {
	return []*policyv1.UnhealthyPodEvictionPolicyType{nil, ptr.To(policyv1.IfHealthyBudget), ptr.To(policyv1.AlwaysAllow)}[g.IntN(3)]
}

// owned makes pods of one kind, or of two, and their budget.
func (g *generator) owned(s *scene) {
	n := 2 + g.IntN(5)
	kind := g.IntN(6)
	switch kind {
	case 0, 1:
		s.replicaSet("x", n)
	case 2:
		s.statefulSet("x", n, appsv1.ParallelPodManagement)
	case 3:
		s.job("x", n, 6, batchv1.TerminatingOrFailed)
	case 4:
		s.replicaSet("x", n)
		s.bare("x", n)
	default:
		s.bare("x", n)
	}
	least, most := g.rule(n)
	s.budget("b", "x", least, most, g.policy())
	if g.one(15) {
		s.budget("b2", "x", least, most, nil)
	}
}

// answers asks of pods in all states whether they may go. They are wanted, but not replaced in time.
func (g *generator) answers() *scene {
	s := g.new(4, 0, "disruption", "replicaset", "statefulset", "job")
	g.owned(s)
	for _, p := range s.pods {
		switch g.IntN(9) {
		case 0, 1:
			p.Status.Conditions[0].Status = v1.ConditionFalse
		case 2:
			p.Status.Phase = v1.PodPending
			p.Status.Conditions[0].Status = v1.ConditionFalse
		case 3:
			if controllermanager.WorkloadOf(p) == "bare" { // others would be replaced
				p.Status.Phase = v1.PodSucceeded
				p.Status.Conditions[0].Status = v1.ConditionFalse
			}
		}
	}
	for range 2 { // each twice
		for _, i := range g.Perm(len(s.pods)) {
			s.asks = append(s.asks, ask{time.Duration(len(s.asks)+1) * 10 * time.Second, s.pods[i].Name})
		}
	}
	s.file.Until = time.Duration(len(s.asks)+2) * 10 * time.Second
	s.file.Reschedule.After, s.file.Config.UseEvictionAPI = ptr.To(time.Hour), true
	return s
}

// budgets asks while pods come and go, but before the evictor evicts anything.
func (g *generator) budgets() *scene {
	s := g.new(4+g.IntN(3), 5*time.Minute, "disruption", "replicaset", "statefulset", "job")
	s.file.Config.UseEvictionAPI = true
	g.owned(s)
	for _, i := range g.Perm(len(s.nodes))[:2] {
		name := []string{s.nodes[i].Name}
		e := simulation.Event{At: offGrid + g.seconds(1, 120), Fail: &simulation.Nodes{Names: name}}
		s.file.Events = append(s.file.Events, e)
		if g.one(60) {
			s.file.Events = append(s.file.Events, simulation.Event{At: e.At + g.seconds(20, 150), Recover: &simulation.Nodes{Names: name}})
		}
	}
	for range 2 {
		s.file.Events = append(s.file.Events, simulation.Event{At: offGrid + g.seconds(1, 250), DeletePod: &simulation.Pod{Name: "default/" + s.pods[g.IntN(len(s.pods))].Name}})
	}
	s.sort()
	// Nobody asks at an instant at which a pod comes back that was evicted or deleted before.
	for at := 7520 * time.Millisecond; at < s.file.Until; at += g.seconds(5, 40) + 20*time.Millisecond {
		s.asks = append(s.asks, ask{at, s.pods[g.IntN(len(s.pods))].Name})
	}
	return s
}

// offOthers keeps the tries of a drain off those of the others: whose pod a budget lets go, if both try at one instant, is open.
const offOthers = 130 * time.Millisecond

// drains drains nodes under budgets. One scenario in six has a delay that the time between tries divides, one what kubectl does
// not drain unless it is told to, one silent nodes, one pods with two budgets, and one a Job.
func (g *generator) drains() *scene {
	s := g.new(4+g.IntN(3), 40*time.Minute, "replicaset", "statefulset", "job", "disruption", "kubectl")
	web, db := 3+g.IntN(8), 2+g.IntN(4)
	s.replicaSet("web", web)
	theme, silent := g.seed%6, 0
	least, most := g.rule(web)
	if theme == 0 {
		least, most = nil, ptr.To(intstr.FromInt32(1))
	}
	s.budget("web", "web", least, most, g.policy())
	s.statefulSet("db", db, appsv1.OrderedReadyPodManagement)
	least, most = g.rule(db)
	s.budget("db", "db", least, most, g.policy())
	s.file.Reschedule.After = ptr.To(7300 * time.Millisecond)
	switch {
	case theme == 0:
		s.file.Reschedule.After = ptr.To(10 * time.Second)
	case theme == 1 && g.one(50):
		s.bare("solo", 2)
	case theme == 1:
		s.pods[g.IntN(len(s.pods))].Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	case theme == 2:
		silent = 60
	case theme == 3:
		s.budget("db2", "db", least, most, nil)
	case theme == 4:
		s.job("batch", 3, 6, batchv1.TerminatingOrFailed)
		least, most = g.rule(3)
		s.budget("batch", "batch", least, most, g.policy())
	}
	at := offGrid
	for _, i := range g.Perm(len(s.nodes))[:2+g.IntN(2)] {
		on := simulation.Nodes{Names: []string{s.nodes[i].Name}}
		if at += g.seconds(1, 300) + offOthers; g.one(silent) {
			s.file.Events = append(s.file.Events, simulation.Event{At: at, Fail: &on})
			at += g.seconds(1, 400)
		}
		drain := &simulation.Drain{Nodes: on, Timeout: g.seconds(60, 1200)}
		if g.one(30) {
			drain.Timeout = 0
		}
		s.file.Events = append(s.file.Events, simulation.Event{At: at, Drain: drain})
		if g.one(15) {
			s.file.Events = append(s.file.Events, simulation.Event{At: at + g.seconds(2, 60), Uncordon: &on})
		}
	}
	s.sort()
	return s
}
