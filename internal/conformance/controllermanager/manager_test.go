package controllermanager

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/frontend"
	"github.com/evictkit/evictkit/internal/outside"
)

// play plays a scenario with these controllers.
func play(t *testing.T, s simulation.Scenario, controllers ...string) (report *simulation.Report, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := frontend.NewClock(true)
		s.Clock, s.Until = c, 30*time.Minute
		m, made := New(c, &s, controllers...)
		if made != nil {
			t.Fatal(made)
		}
		c.Lock()
		report, err = simulation.Play(m.With(context.Background()), s, m.Start)
		c.Unlock()
		m.Close()
		sleep(time.Hour) // until all have ended
	})
	return report, err
}

// TestNobodyPlaysAControllerThatIsNot: a name that upstream has not is an error, and not a world without that controller.
func TestNobodyPlaysAControllerThatIsNot(t *testing.T) {
	if _, err := play(t, simulation.Scenario{}, kubectl, "replicasets"); err == nil || !strings.Contains(err.Error(), `"replicasets"`) {
		t.Errorf("the error is %v", err)
	}
}

// TestTheLastDrainOfANodeCounts: of two drains, the one that was stopped does not end the other.
func TestTheLastDrainOfANodeCounts(t *testing.T) {
	on, app := simulation.Nodes{Names: []string{"a"}}, map[string]string{"app": "web"}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "default", Labels: app,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}},
	}, Spec: v1.PodSpec{NodeName: "a"}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: app},
	}}
	first := simulation.Event{At: 20 * time.Second, Drain: &simulation.Drain{Nodes: on, Timeout: 2 * time.Minute}}
	open := simulation.Event{At: 50 * time.Second, Uncordon: &on}
	again := simulation.Event{At: 50 * time.Second, Drain: &simulation.Drain{Nodes: on, Timeout: 10 * time.Minute}}
	for name, events := range map[string][]simulation.Event{"anew": {first, again}, "opened between": {first, open, again}} {
		report, err := play(t, simulation.Scenario{
			Nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, Pods: []*v1.Pod{pod}, Objects: []runtime.Object{budget}, Events: events,
		}, kubectl, "disruption")
		if err != nil {
			t.Fatal(name, err)
		}
		if ends := report.StuckDrains; len(ends) != 1 || ends[0].Ended != simulation.DrainGivenUp || ends[0].At.Truncate(time.Second) != again.At+again.Drain.Timeout {
			t.Errorf("%s: the drains ended as %+v", name, ends)
		}
	}
}

// replaced notes in whose place pods are created, in a world that has none.
type replaced struct {
	cluster.PodStore
	outside.World
	instead []string
}

func (r *replaced) Create(_ *v1.Pod, instead string, _ time.Duration, _ int) error {
	r.instead = append(r.instead, instead)
	return nil
}

func (*replaced) Pod(evictor.PodKey) (*v1.Pod, bool) { return nil, false }

// TestASuccessorMayBeFasterThanPodGC: PodGC calls a pod failed before it deletes it. Its ReplicaSet may replace it after either.
func TestASuccessorMayBeFasterThanPodGC(t *testing.T) {
	for _, early := range []bool{true, false} {
		world, c := &replaced{}, frontend.NewClock(true)
		f := newFace(c, &outside.Parts{World: world})
		f.clients = evictor.Clients{Pods: world}
		owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}}
		old := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", OwnerReferences: owner}, Spec: v1.PodSpec{NodeName: "a"}}
		c.Lock()
		f.put("pods", "default/web", old)
		failed := old.DeepCopy()
		failed.Status.Phase = v1.PodFailed
		if _, err := f.replace(podGC, "pods", "default/web", "status", old, failed); err != nil {
			t.Fatal(err)
		}
		successor := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "default", OwnerReferences: owner}}
		if early {
			_ = f.queue(successor, false)
		}
		f.PodChanged(evictor.PodKey{Namespace: "default", Name: "web"})
		if !early {
			_ = f.queue(successor, false)
		}
		_ = f.queue(successor, false) // nobody else is replaced
		c.Unlock()
		if !slices.Equal(world.instead, []string{"web", ""}) {
			t.Errorf("early %v: they are created instead of %q", early, world.instead)
		}
	}
}
