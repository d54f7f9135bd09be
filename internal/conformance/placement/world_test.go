package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/simulator"
	"github.com/evictkit/evictkit/zone"
)

// world is the objects of a cluster, and the simulator's cluster made from them.
type world struct {
	nodes      []*v1.Node
	pods       []*v1.Pod // bound
	namespaces []*v1.Namespace
	volumes    []*v1.PersistentVolume
	claims     []*v1.PersistentVolumeClaim
	cluster    *simulator.Cluster
}

func newWorld() *world {
	w := &world{cluster: simulator.New(&simulator.Clock{})}
	for i, name := range namespaces {
		w.namespaces = append(w.namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{v1.LabelMetadataName: name, teamLabel: []string{"red", "blue"}[i%2]},
		}})
	}
	return w
}

// copied returns a world without a cluster. Its objects may be changed, except volumes and claims.
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

func (w *world) addNode(n *v1.Node) {
	if w.cluster.AddNodeObject(n.DeepCopy()) == nil {
		w.nodes = append(w.nodes, n)
	}
}

func (w *world) bind(p *v1.Pod, node string) {
	bound := p.DeepCopy()
	bound.Spec.NodeName = node
	if ok, err := w.cluster.AddPodObject(bound.DeepCopy()); ok && err == nil {
		w.pods = append(w.pods, bound)
	}
}

func (w *world) deleteNode(i int) {
	name := w.nodes[i].Name
	w.cluster.DeleteNode(name)
	w.nodes = slices.Delete(w.nodes, i, i+1)
	w.pods = slices.DeleteFunc(w.pods, func(p *v1.Pod) bool { return p.Spec.NodeName == name })
}

// deletePod also deletes pods on silent nodes, which keep their room.
func (w *world) deletePod(i int) {
	key := evictor.PodKey{Namespace: w.pods[i].Namespace, Name: w.pods[i].Name}
	w.cluster.DeletePod(key)
	if _, there := w.cluster.Pod(key); there {
		w.pods[i].DeletionTimestamp = &metav1.Time{Time: simulator.Epoch}
		return
	}
	w.pods = slices.Delete(w.pods, i, i+1)
}

func (w *world) setPhase(i int, phase v1.PodPhase) {
	p := w.pods[i]
	if w.cluster.SetPhase(evictor.PodKey{Namespace: p.Namespace, Name: p.Name}, phase) {
		p.Status.Phase = phase
	}
}

func (w *world) cordon(i int, on bool) {
	w.nodes[i].Spec.Unschedulable = on
	w.cluster.Cordon(w.nodes[i].Name, on)
}

func (w *world) taint(i int, taint v1.Taint) {
	n := w.nodes[i]
	w.untaint(i, taint.Key, taint.Effect)
	n.Spec.Taints = append(n.Spec.Taints, taint)
	w.cluster.SetTaint(n.Name, taint)
}

func (w *world) untaint(i int, key string, effect v1.TaintEffect) {
	n := w.nodes[i]
	n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t v1.Taint) bool { return t.Key == key && t.Effect == effect })
	w.cluster.RemoveTaint(n.Name, key, effect)
}

func (w *world) move(i int, zoneName string) {
	n := w.nodes[i]
	if w.cluster.SetZone(n.Name, zone.Key{Zone: zoneName}) {
		n.Labels = w.labelsOf(n.Name)
	}
}

// labelsOf returns the labels that the simulator gave a node; zone labels are not what is compared.
func (w *world) labelsOf(node string) map[string]string {
	n, _ := w.cluster.Node(node)
	return n.Labels
}
