package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

func drains(at time.Duration, d Drain) Event {
	d.Nodes = *named("a1")
	return Event{At: at, Drain: &d}
}

func scratching(p *v1.Pod) *v1.Pod {
	p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	return p
}

func bare(name string) *v1.Pod {
	p := owned("", "", name, "a1")
	p.OwnerReferences = nil
	return p
}

func ended(p *v1.Pod) *v1.Pod {
	p.Status.Phase = v1.PodSucceeded
	return p
}

func mirrored(p *v1.Pod) *v1.Pod {
	p.Annotations = mirror
	return p
}

// kubectl evicts nothing from a node that has a pod without a controller, or one with an emptyDir, unless it is told
// to.
func TestADrainRefusesWhatKubectlRefuses(t *testing.T) {
	const cordoned = "node a1 is cordoned, and nothing is evicted because of "
	web := func() *v1.Pod { return owned("ReplicaSet", "web", "web", "a1") }
	for name, c := range map[string]struct {
		pods    []*v1.Pod
		drain   Drain
		drained int
		text    string
	}{
		"bare":              {[]*v1.Pod{web(), bare("b"), bare("a")}, Drain{}, 0, cordoned + "2 pods: pod shop/a: it has no controller (bare: refuse)"},
		"bare, told so":     {[]*v1.Pod{web(), bare("b")}, Drain{Bare: refusePods, EmptyDir: evictPods}, 0, cordoned + "1 pod: pod shop/b: it has no controller (bare: refuse)"},
		"--force":           {[]*v1.Pod{web(), bare("b")}, Drain{Bare: evictPods}, 2, ""},
		"emptyDir":          {[]*v1.Pod{web(), scratching(owned("ReplicaSet", "web", "x", "a1"))}, Drain{Bare: evictPods}, 0, cordoned + "1 pod: pod shop/x: it has an emptyDir volume (emptyDir: refuse)"},
		"emptyDir and bare": {[]*v1.Pod{scratching(bare("x"))}, Drain{}, 0, cordoned + "1 pod: pod shop/x: it has an emptyDir volume (emptyDir: refuse)"},
		"--delete-emptydir-data": {
			[]*v1.Pod{web(), scratching(owned("ReplicaSet", "web", "x", "a1"))}, Drain{EmptyDir: evictPods}, 2, "",
		},
		"finished": {[]*v1.Pod{web(), ended(bare("b")), ended(scratching(bare("c"))), ended(owned("DaemonSet", "d", "d", "a1"))}, Drain{}, 4, ""},
		"stays":    {[]*v1.Pod{web(), mirrored(bare("b")), scratching(owned("DaemonSet", "d", "d", "a1"))}, Drain{}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.drain.Timeout = time.Minute
			lines, happened, r := told(t, filed(t, v1.ReadWriteOnce, c.pods...), Scenario{Until: 5 * time.Minute, Events: []Event{drains(time.Minute, c.drain)}})
			require.Equal(t, c.drained, r.Drained)
			require.Equal(t, time.Minute, happened["a1: the node is cordoned"])
			require.Equal(t, 1, r.Drains)
			if c.text == "" {
				require.Empty(t, r.StuckDrains)
				return
			}
			require.Equal(t, c.text, r.StuckDrains[0].String())
			require.Equal(t, []int{1, 0, 0}, []int{r.DrainsFailed, r.DrainsGivenUp, r.DrainsUnfinished})
			require.Len(t, of(lines, timeline.KindDrainEnd), 1)
		})
	}
	_, _, r := told(t, filed(t, v1.ReadWriteOnce, bare("b"), scratching(bare("c"))), Scenario{Until: 5 * time.Minute, Events: []Event{{At: time.Minute, Roll: &Roll{Nodes: *named("a1")}}}})
	require.Equal(t, 2, r.Drained, "who rolls nodes empties them")
	require.Zero(t, r.RollsUnfinished)
}

// kubectl waits until the pods are gone: on a silent node that is when its kubelet is back, or somebody removes their
// objects. A pod that was deleted before keeps it, too.
func TestADrainWaitsForASilentNode(t *testing.T) {
	wait, hurry := true, false
	const waits = "the drain of node a1 has not ended after 28m, with 1 pod left: pod shop/web: it is deleted, and its kubelet has not ended it"
	for name, c := range map[string]struct {
		drain  Drain
		more   []Event
		texts  []string
		forced int
	}{
		"for ever":     {Drain{}, nil, []string{waits}, 0},
		"finished":     {Drain{}, nil, nil, 0}, // the API server waits for no kubelet
		"told to":      {Drain{Wait: &wait}, nil, []string{waits}, 0},
		"told not to":  {Drain{Wait: &hurry}, nil, nil, 0},
		"it is back":   {Drain{}, []Event{{At: 5 * time.Minute, Recover: named("a1")}}, nil, 0},
		"in time":      {Drain{Timeout: 4 * time.Minute}, []Event{{At: 5 * time.Minute, Recover: named("a1")}}, nil, 0},
		"PodGC":        {Drain{}, []Event{{At: 5 * time.Minute, OutOfService: named("a1")}}, nil, 0},
		"deleted":      {Drain{}, []Event{{At: 90 * time.Second, DeletePod: &Pod{Name: "shop/web"}}}, []string{waits}, 0},
		"force-delete": {Drain{}, []Event{{At: 5*time.Minute + time.Second, ForceDelete: &Pod{Name: "shop/web"}}}, nil, 0},
		"given up": {Drain{Timeout: time.Minute}, nil, []string{
			"the drain of node a1 was given up after 1m, with 1 pod left: pod shop/web: it is deleted, and its kubelet has not ended it",
		}, 0},
		"forced": {Drain{Timeout: time.Minute, Then: thenForce}, nil, []string{
			"the drain of node a1 was forced after 1m, with 1 pod left: pod shop/web: it is deleted, and its kubelet has not ended it",
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := Scenario{Until: 30 * time.Minute, Events: append([]Event{{At: time.Minute, Fail: named("a1")}, {At: time.Minute, Cordon: named("a1")}, drains(2*time.Minute, c.drain)}, c.more...)}
			if name == "deleted" {
				s.Events[2], s.Events[3] = s.Events[3], s.Events[2]
			}
			web := owned("ReplicaSet", "web", "web", "a1")
			web.Spec.Tolerations = everything
			if name == "finished" {
				web.Status.Phase = v1.PodSucceeded
			}
			_, _, r := told(t, filed(t, v1.ReadWriteOnce, web, owned("ReplicaSet", "web", "web2", "b1")), s)
			var texts []string
			for i := range r.StuckDrains {
				texts = append(texts, r.StuckDrains[i].String())
			}
			require.Equal(t, c.texts, texts)
			require.Equal(t, c.forced, r.DrainsForced)
			require.Equal(t, len(c.texts), r.DrainsForced+r.DrainsGivenUp+r.DrainsUnfinished)
		})
	}
}

// A roll goes on without the kubelet of a silent node, as Cluster API and Karpenter do.
func TestARollDoesNotWaitForASilentNode(t *testing.T) {
	web := owned("ReplicaSet", "web", "web", "a1")
	web.Spec.Tolerations = everything
	_, _, r := told(t, filed(t, v1.ReadWriteOnce, web), Scenario{Until: 30 * time.Minute, Events: []Event{
		{At: time.Minute, Fail: named("a1")}, {At: 2 * time.Minute, Roll: &Roll{Nodes: *named("a1", "a2")}},
	}})
	require.Zero(t, r.RollsUnfinished)
	require.Equal(t, 2, r.Drains)
}

// Two budgets for one pod are an error, and no refusal: kubectl evicts the other pods, and fails. A roll tries again.
func TestTwoBudgetsEndADrain(t *testing.T) {
	guarded := func() *cluster {
		two := owned("ReplicaSet", "web", "two", "a1")
		two.Labels = map[string]string{"app": "x"}
		one := owned("ReplicaSet", "db", "one", "a1")
		one.Labels = map[string]string{"app": "y"}
		c, least := newCluster(clockOf(nil)), intstr.FromInt(1)
		for name, app := range map[string]string{"x1": "x", "x2": "x", "y": "y"} {
			require.NoError(t, c.AddBudget("shop", name, budgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}))
		}
		for _, name := range []string{"a1", "a2"} {
			require.NoError(t, c.AddNodeObject(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		}
		for _, p := range []*v1.Pod{two, one} {
			_, err := c.AddPodObject(p)
			require.NoError(t, err)
		}
		return c
	}
	another := Event{At: 10*time.Minute + time.Second, DeletePod: &Pod{Name: "shop/one"}}
	lines, _, r := told(t, guarded(), Scenario{Until: time.Hour, Events: []Event{drains(time.Minute, Drain{}), another}})
	require.Equal(t, "the drain of node a1 failed after 9m5s, with 1 pod left: pod shop/two: This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", r.StuckDrains[0].String())
	require.Equal(t, []int{1, 0}, []int{r.DrainsFailed, r.DrainsUnfinished})
	require.Len(t, of(lines, timeline.KindDrainEnd), 1)

	_, _, r = told(t, guarded(), Scenario{Until: time.Hour, Events: []Event{{At: time.Minute, Roll: &Roll{Nodes: *named("a1")}}, another}})
	require.Equal(t, []int{0, 1}, []int{r.DrainsFailed, r.DrainsUnfinished})
}

// A pod that is Ready at the instant of a retry counts at that retry: with ten seconds until it is, a step takes ten
// seconds.
func TestARetryComesAfterTheReplacement(t *testing.T) {
	lines, _, _ := told(t, budgeted(t, 1), Scenario{
		Zones: appX(3), Until: 10 * time.Minute, ReplaceAfter: 10 * time.Second, Events: []Event{{At: time.Minute, Drain: &Drain{Nodes: *named("a-000")}}},
	})
	var at []time.Duration
	for _, l := range of(lines, timeline.KindDrain) {
		at = append(at, l.T)
	}
	require.Equal(t, []time.Duration{time.Minute, 70 * time.Second}, at)
}

// kubectl tries pods in the order in which the API server lists them, and those only that were there when it began.
func TestWhichPodsADrainTries(t *testing.T) {
	c := filed(t, v1.ReadWriteOnce, owned("ReplicaSet", "web", "b", "a1"), owned("ReplicaSet", "web", "a", "a1"))
	prefix := owned("ReplicaSet", "web", "z", "a1")
	prefix.Namespace = "shop-two"
	_, err := c.AddPodObject(prefix)
	require.NoError(t, err)
	d := &drain{node: c.nodeByID["a1"]}
	for range 2 {
		c.list(d)
		var keys []string
		for i := range d.pods {
			keys = append(keys, d.pods[i].key.String())
		}
		require.Equal(t, []string{"shop-two/z", "shop/a", "shop/b"}, keys)
	}

	silent := []Event{{At: 30 * time.Second, Fail: named("a1")}, drains(time.Minute, Drain{}), {At: 2 * time.Minute, AddPod: &AddPod{Name: "late", Node: "a1", PodFields: PodFields{Owner: "ReplicaSet/late"}}}}
	web := owned("ReplicaSet", "web", "web", "a1")
	web.Spec.Tolerations = everything
	_, _, r := told(t, filed(t, v1.ReadWriteOnce, web), Scenario{Until: 3 * time.Minute, Events: silent})
	require.Equal(t, 1, r.Drained)
}

func TestFieldsOfDrainsAreChecked(t *testing.T) {
	f := newFaults()
	(&Drain{Bare: "keep", EmptyDir: "Evict"}).check(f)
	require.ErrorContains(t, f.invalid(), `bare: "keep" is neither refuse nor evict`)
	require.ErrorContains(t, f.invalid(), `emptyDir: "Evict" is neither refuse nor evict`)
	hurry := false
	e := Event{Drain: &Drain{Nodes: *named("a"), Timeout: time.Minute, Bare: evictPods, EmptyDir: evictPods, Wait: &hurry}}
	require.Equal(t, "drain node a (after 1m giveUp) (bare: evict, emptyDir: evict, wait: false)", e.String())
}
