package placement

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// world is the objects of a cluster, and the simulated world made from them.
type world struct {
	nodes      []*v1.Node
	pods       []*v1.Pod // bound
	namespaces []*v1.Namespace
	volumes    []*v1.PersistentVolume
	claims     []*v1.PersistentVolumeClaim
	simulated  *simulation.World
}

func newWorld() *world {
	simulated, err := simulation.New(simulation.Scenario{})
	must(err)
	w := &world{simulated: simulated}
	for i, name := range namespaces {
		w.namespaces = append(w.namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{v1.LabelMetadataName: name, teamLabel: []string{"red", "blue"}[i%2]},
		}})
	}
	return w
}

// must panics: what the generator makes happen is possible.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// copied returns objects without a simulation. Its objects may be changed, except volumes and claims.
func (w *world) copied() *world {
	c := &world{volumes: w.volumes, claims: w.claims}
	for _, n := range w.nodes {
		c.nodes = append(c.nodes, n.DeepCopy())
	}
	for _, p := range w.pods {
		c.pods = append(c.pods, p.DeepCopy())
	}
	for _, n := range w.namespaces {
		c.namespaces = append(c.namespaces, n.DeepCopy())
	}
	return c
}

// addNode does nothing if the node exists.
func (w *world) addNode(n *v1.Node) {
	if w.simulated.Add(n.DeepCopy()) == nil {
		w.nodes = append(w.nodes, n)
	}
}

// bind does nothing if the pod exists.
func (w *world) bind(p *v1.Pod, node string) {
	bound := p.DeepCopy()
	bound.Spec.NodeName = node
	if w.simulated.Add(bound.DeepCopy()) == nil {
		w.pods = append(w.pods, bound)
	}
}

func (w *world) fail(i int) { must(w.simulated.Do(simulation.Event{Fail: w.named(i)})) }

func (w *world) deleteNode(i int) {
	name := w.nodes[i].Name
	must(w.simulated.Do(simulation.Event{DeleteNode: w.named(i)}))
	w.nodes = slices.Delete(w.nodes, i, i+1)
	w.pods = slices.DeleteFunc(w.pods, func(p *v1.Pod) bool { return p.Spec.NodeName == name })
}

// deletePod also deletes pods on silent nodes, which keep their room.
func (w *world) deletePod(i int) {
	key := evictor.PodKey{Namespace: w.pods[i].Namespace, Name: w.pods[i].Name}
	must(w.simulated.Do(simulation.Event{DeletePod: &simulation.Pod{Name: key.String()}}))
	if _, there := w.simulated.Clients().Pods.Pod(key); there {
		w.pods[i].DeletionTimestamp = &metav1.Time{Time: simulation.Epoch}
		return
	}
	w.pods = slices.Delete(w.pods, i, i+1)
}

func (w *world) setPhase(i int, phase v1.PodPhase) {
	w.pods[i].Status.Phase = phase
	must(w.simulated.Update(w.pods[i]))
}

func (w *world) cordon(i int, on bool) {
	w.nodes[i].Spec.Unschedulable = on
	e := simulation.Event{Uncordon: w.named(i)}
	if on {
		e = simulation.Event{Cordon: w.named(i)}
	}
	must(w.simulated.Do(e))
}

func (w *world) taint(i int, taint v1.Taint) {
	n := w.nodes[i]
	w.untaint(i, taint.Key, taint.Effect)
	n.Spec.Taints = append(n.Spec.Taints, taint)
	must(w.simulated.Do(simulation.Event{Taint: &simulation.Taint{Nodes: *w.named(i), NodeTaint: simulation.NodeTaint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}}}))
}

func (w *world) untaint(i int, key string, effect v1.TaintEffect) {
	n := w.nodes[i]
	n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t v1.Taint) bool { return t.Key == key && t.Effect == effect })
	must(w.simulated.Do(simulation.Event{Untaint: &simulation.Untaint{Nodes: *w.named(i), Key: key, Effect: effect}}))
}

func (w *world) move(i int, zoneName string) {
	n := w.nodes[i]
	n.Labels = maps.Clone(n.Labels)
	n.Labels[v1.LabelTopologyZone] = zoneName
	must(w.simulated.Update(n))
}

func (w *world) named(i int) *simulation.Nodes {
	return &simulation.Nodes{Names: []string{w.nodes[i].Name}}
}
