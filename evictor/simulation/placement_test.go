package simulation

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/zone"
)

const gpu = v1.ResourceName("nvidia.com/gpu")

// model keeps the objects of a cluster as they were written, and searches them in the simplest way.
type model struct {
	c    *cluster
	pods map[string]*v1.Pod  // by namespace/name, including what the cluster's own objects leave out
	node map[string]*v1.Node // by name, the same
}

func quantities(list v1.ResourceList, add v1.ResourceList) v1.ResourceList {
	sum := v1.ResourceList{}
	for _, l := range []v1.ResourceList{list, add} {
		for name, q := range l {
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	return sum
}

// on returns the pods of a node that have not finished, as written.
func (m *model) on(node string) (pods []*v1.Pod) {
	m.c.PodsOnNode(node, func(p *v1.Pod) bool {
		if p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
			pods = append(pods, m.pods[p.Namespace+"/"+p.Name])
		}
		return true
	})
	return pods
}

func asked(p *v1.Pod) v1.ResourceList {
	sum := v1.ResourceList{}
	for i := range p.Spec.Containers {
		sum = quantities(sum, p.Spec.Containers[i].Resources.Requests)
	}
	for i := range p.Spec.InitContainers { // the model has no sidecars
		for name, q := range p.Spec.InitContainers[i].Resources.Requests {
			if have := sum[name]; have.Cmp(q) < 0 {
				sum[name] = q
			}
		}
	}
	return sum
}

func (m *model) hasRoom(node *v1.Node, p *v1.Pod) bool {
	written := m.node[node.Name]
	if written == nil || len(written.Status.Allocatable) == 0 {
		return true
	}
	pods := append(m.on(node.Name), p)
	sum := v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(int64(len(pods)), resource.DecimalSI)}
	for _, q := range pods {
		sum = quantities(sum, asked(q))
	}
	for name := range quantities(asked(p), v1.ResourceList{v1.ResourcePods: resource.MustParse("1")}) {
		want := asked(p)[name]
		if want.IsZero() && name != v1.ResourcePods {
			continue
		}
		total, limit := sum[name], written.Status.Allocatable[name]
		if _, said := written.Status.Allocatable[name]; !said && name != gpu {
			continue // for resources of every node, a missing value means no limit
		}
		if total.Cmp(limit) > 0 {
			return false
		}
	}
	return true
}

func (m *model) share(node *v1.Node) float64 {
	written := m.node[node.Name]
	if written == nil || len(written.Status.Allocatable) == 0 {
		count := 0
		m.c.PodsOnNode(node.Name, func(p *v1.Pod) bool {
			if p.DeletionTimestamp == nil && (len(p.OwnerReferences) == 0 || p.OwnerReferences[0].Kind != "DaemonSet") {
				count++
			}
			return true
		})
		return float64(count) / 110
	}
	var milli, bytes int64
	for _, p := range m.on(node.Name) {
		a := asked(p)
		c, b := a.Cpu().MilliValue(), a.Memory().Value()
		if c == 0 {
			c = 100
		}
		if b == 0 {
			b = 200 << 20
		}
		milli, bytes = milli+c, bytes+b
	}
	allocatable := written.Status.Allocatable
	of := func(used, all int64) float64 {
		if all == 0 {
			return 0 // not stated
		}
		return float64(used) / float64(all)
	}
	return (of(milli, allocatable.Cpu().MilliValue()) + of(bytes, allocatable.Memory().Value())) / 2
}

func (m *model) selected(node *v1.Node, p *v1.Pod) bool {
	for key, value := range p.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return true
	}
	for _, term := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		matches := len(term.MatchExpressions)+len(term.MatchFields) > 0
		for _, e := range term.MatchExpressions {
			value, has := node.Labels[e.Key]
			in := has && slices.Contains(e.Values, value)
			matches = matches && map[v1.NodeSelectorOperator]bool{
				v1.NodeSelectorOpIn: in, v1.NodeSelectorOpNotIn: !in, v1.NodeSelectorOpExists: has, v1.NodeSelectorOpDoesNotExist: !has,
			}[e.Operator]
		}
		for _, e := range term.MatchFields {
			matches = matches && slices.Contains(e.Values, node.Name)
		}
		if matches {
			return true
		}
	}
	return false
}

// portsFree knows pods with one host port, of all addresses or of one.
func (m *model) portsFree(node *v1.Node, p *v1.Pod) bool {
	ports := p.Spec.Containers[0].Ports
	for _, q := range m.on(node.Name) {
		taken := q.Spec.Containers[0].Ports
		if len(ports) == 0 || len(taken) == 0 || ports[0].HostPort != taken[0].HostPort {
			continue
		}
		if ports[0].HostIP == "" || taken[0].HostIP == "" || ports[0].HostIP == taken[0].HostIP {
			return false
		}
	}
	return true
}

// meant says whether a pod matches another pod's term. The model's terms select by the label app.
func meant(term *v1.PodAffinityTerm, holder, p *v1.Pod) bool {
	namespaces := term.Namespaces
	if len(namespaces) == 0 && term.NamespaceSelector == nil {
		namespaces = []string{holder.Namespace}
	}
	for key, value := range term.LabelSelector.MatchLabels {
		if p.Labels[key] != value {
			return false
		}
	}
	return slices.Contains(namespaces, p.Namespace) || term.NamespaceSelector != nil // the model's selector is empty
}

func apartTerms(p *v1.Pod) []v1.PodAffinityTerm {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func nearTerms(p *v1.Pod) []v1.PodAffinityTerm {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAffinity == nil {
		return nil
	}
	return p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// others calls visit for every pod and the labels of its node.
func (m *model) others(visit func(p *v1.Pod, labels map[string]string)) {
	m.c.Nodes(func(n *v1.Node) bool {
		for _, p := range m.on(n.Name) {
			visit(p, n.Labels)
		}
		return true
	})
}

func (m *model) together(node *v1.Node, p *v1.Pod) bool {
	allowed := true
	same := func(term *v1.PodAffinityTerm, labels map[string]string) bool {
		here, ok := node.Labels[term.TopologyKey]
		there, also := labels[term.TopologyKey]
		return ok && also && here == there
	}
	near := nearTerms(p)
	found, anywhere, self := make([]bool, len(near)), false, true
	for i := range near {
		self = self && meant(&near[i], p, p)
	}
	m.others(func(q *v1.Pod, labels map[string]string) {
		for _, term := range apartTerms(p) {
			allowed = allowed && !(meant(&term, p, q) && same(&term, labels))
		}
		for _, term := range apartTerms(q) {
			allowed = allowed && !(meant(&term, q, p) && same(&term, labels))
		}
		all := true
		for i := range near {
			all = all && meant(&near[i], p, q)
		}
		for i := range near {
			_, counts := labels[near[i].TopologyKey]
			anywhere = anywhere || all && counts
			found[i] = found[i] || all && same(&near[i], labels)
		}
	})
	for i := range near {
		if _, ok := node.Labels[near[i].TopologyKey]; !ok {
			return false
		}
		allowed = allowed && (found[i] || !anywhere && self)
	}
	return allowed
}

// present returns the taints of a node, and those that its state means.
func present(n *v1.Node) []v1.Taint {
	present := slices.Clone(n.Spec.Taints)
	if n.Spec.Unschedulable {
		present = append(present, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	for _, condition := range n.Status.Conditions {
		if condition.Type == v1.NodeReady && condition.Status != v1.ConditionTrue {
			key := map[v1.ConditionStatus]string{v1.ConditionFalse: v1.TaintNodeNotReady, v1.ConditionUnknown: v1.TaintNodeUnreachable}[condition.Status]
			present = append(present, v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule})
		}
	}
	return present
}

// refuses says which check of a node a pod fails, looking at every pod; empty: none.
func (m *model) refuses(n *v1.Node, p *v1.Pod) string {
	switch {
	case !m.open(n, p):
		return placement.TaintThere
	case !m.selected(n, p):
		return placement.Selectors
	case !m.portsFree(n, p):
		return placement.PortTaken
	case !m.hasRoom(n, p):
		return "room"
	case !m.spread(n, p):
		return placement.SpreadApart
	case !m.together(n, p):
		return placement.PodAffinity
	}
	return ""
}

// best looks at every node.
func (m *model) best(p *v1.Pod) (best string) {
	least := 0.0
	m.c.Nodes(func(n *v1.Node) bool {
		if m.refuses(n, p) != "" {
			return true
		}
		if share := m.share(n); best == "" || share < least || share == least && n.Name < best {
			best, least = n.Name, share
		}
		return true
	})
	return best
}

// checks counts the nodes that refuse a pod by why.
func (m *model) checks(p *v1.Pod) map[string]int {
	counts := make(map[string]int)
	m.c.Nodes(func(n *v1.Node) bool {
		counts[m.refuses(n, p)]++
		return true
	})
	return counts
}

// randomNode is a node of a file; every third says nothing of its room.
func randomNode(r *rand.Rand, name string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": fmt.Sprint(r.Intn(3))}}}
	if r.Intn(5) > 0 {
		n.Labels[v1.LabelTopologyZone] = fmt.Sprint("z", r.Intn(3))
	}
	if r.Intn(3) > 0 {
		n.Status.Allocatable = v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(fmt.Sprint(1 + r.Intn(4))), v1.ResourceMemory: resource.MustParse(fmt.Sprint(1+r.Intn(4), "Gi")),
			v1.ResourcePods: *resource.NewQuantity(int64(2+r.Intn(5)), resource.DecimalSI),
		}
		if r.Intn(2) == 0 {
			n.Status.Allocatable[gpu] = *resource.NewQuantity(int64(r.Intn(3)), resource.DecimalSI)
		}
		if r.Intn(2) == 0 {
			n.Status.Allocatable[v1.ResourceEphemeralStorage] = resource.MustParse("3Gi")
		}
	}
	return n
}

func randomPod(r *rand.Rand, name, node string) *v1.Pod {
	isController := true
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: []string{"default", "shop"}[r.Intn(2)], Labels: map[string]string{"app": fmt.Sprint(r.Intn(3))}}}
	kind := []string{"", "ReplicaSet", "StatefulSet", "Job", "DaemonSet"}[r.Intn(5)]
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "o", Controller: &isController}}
	}
	requests := v1.ResourceList{}
	for _, one := range []struct {
		name v1.ResourceName
		of   []string
	}{
		{v1.ResourceCPU, []string{"0", "250m", "1", "3"}}, {v1.ResourceMemory, []string{"0", "100Mi", "1Gi"}},
		{v1.ResourceEphemeralStorage, []string{"0", "1Gi"}}, {gpu, []string{"0", "1", "2"}},
	} {
		if r.Intn(2) == 0 {
			requests[one.name] = resource.MustParse(one.of[r.Intn(len(one.of))])
		}
	}
	p.Spec = v1.PodSpec{NodeName: node, Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: requests}}}}
	if r.Intn(4) == 0 {
		p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
		p.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1500m")}}}}
	}
	if r.Intn(3) == 0 {
		p.Spec.Tolerations = []v1.Toleration{{Key: "k", Operator: v1.TolerationOpExists}}
	}
	if r.Intn(8) == 0 {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists})
	}
	if r.Intn(20) == 0 {
		p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	}
	if r.Intn(6) == 0 {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: int32(80 + r.Intn(2)), HostIP: []string{"", "10.0.0.1", "10.0.0.2"}[r.Intn(3)]}}
	}
	if r.Intn(4) == 0 {
		p.Spec.NodeSelector = map[string]string{"pool": fmt.Sprint(r.Intn(3))}
	}
	a := &v1.Affinity{}
	term := func() []v1.PodAffinityTerm {
		t := v1.PodAffinityTerm{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(r.Intn(3))}},
			TopologyKey:   []string{v1.LabelTopologyZone, "pool"}[r.Intn(2)],
		}
		switch r.Intn(4) {
		case 0:
			t.Namespaces = []string{"shop"}
		case 1:
			t.NamespaceSelector = &metav1.LabelSelector{}
		}
		return []v1.PodAffinityTerm{t}
	}
	switch r.Intn(11) {
	case 9, 10:
		p.Spec.TopologySpreadConstraints = randomSpread(r)
	case 0:
		a.NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: "pool", Operator: []v1.NodeSelectorOperator{v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn}[r.Intn(2)], Values: []string{"0", "1"}},
				{Key: v1.LabelTopologyZone, Operator: []v1.NodeSelectorOperator{v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist}[r.Intn(2)]},
			}},
			{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n3"}}}},
			{},
		}}}
	case 1:
		a.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term()}
	case 2:
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: append(term(), term()...)[:1+r.Intn(2)]}
	}
	p.Spec.Affinity = a
	return p
}

// relabel changes a label of a node, if it exists.
func relabel(c *cluster, name, label, value string) {
	if i, ok := c.nodeByID[name]; ok {
		labels := maps.Clone(c.nodes[i].Labels)
		labels[label] = value
		c.relabel(&c.nodes[i], labels)
	}
}

func TestPodsComeBackWhereANaiveSearchFindsRoom(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	some, none := 0, 0
	for range 40 {
		m := &model{c: newCluster(clockOf(nil)), pods: map[string]*v1.Pod{}, node: map[string]*v1.Node{}}
		c := m.c
		c.StartKubelets(1e10, 1e11, true)
		indexed := r.Intn(100)
		for step := range 200 {
			if step == indexed {
				c.filters.Index()
			}
			name := fmt.Sprint("n", r.Intn(7))
			action := r.Intn(18)
			i, exists := c.nodeByID[name]
			if !exists && action >= 2 && action <= 8 {
				action = -1
			}
			switch action {
			case 0, 1:
				if n := randomNode(r, name); c.AddNodeObject(n) == nil {
					m.node[name] = n
				}
			case 2:
				c.DeleteNode(&c.nodes[i])
			case 3:
				c.Fail(&c.nodes[i])
			case 4, 5:
				c.Recover(&c.nodes[i])
			case 6:
				c.SetTaint(&c.nodes[i], v1.Taint{Key: "k", Effect: v1.TaintEffectNoSchedule})
			case 7:
				c.RemoveTaint(&c.nodes[i], "k", v1.TaintEffectNoSchedule)
			case 8:
				c.Cordon(&c.nodes[i], r.Intn(3) == 0)
			case 9:
				relabel(c, name, v1.LabelTopologyZone, fmt.Sprint("z", r.Intn(3)))
			case 10, 11, 12, 13:
				p := randomPod(r, fmt.Sprint("p", r.Intn(20)), name)
				if bound, err := c.AddPodObject(p); err == nil && bound {
					m.pods[p.Namespace+"/"+p.Name] = p
				}
			case 14:
				if i, ok := c.findPod(evictor.PodKey{Namespace: "default", Name: fmt.Sprint("p", r.Intn(20))}); ok {
					c.deletePod(i)
				}
			case 15:
				if i, ok := c.findPod(evictor.PodKey{Namespace: "shop", Name: fmt.Sprint("p", r.Intn(20))}); ok {
					c.SetPhase(i, []v1.PodPhase{v1.PodRunning, v1.PodSucceeded}[r.Intn(2)])
				}
			case 16:
				relabel(c, name, "pool", fmt.Sprint(r.Intn(3)))
			case 17:
				key, app := evictor.PodKey{Namespace: "shop", Name: fmt.Sprint("p", r.Intn(20))}, map[string]string{"app": fmt.Sprint(r.Intn(3))}
				if i, ok := c.findPod(key); ok {
					c.SetPodLabels(i, app)
					m.pods[key.String()].Labels = app
				}
			}
			if step < indexed {
				continue
			}
			for range 3 {
				p := randomPod(r, "new", "")
				s := c.spec(podSpec{Spec: placement.Spec{Tolerations: p.Spec.Tolerations, Needs: c.filters.NeedsOf(p), Labels: c.filters.LabelsOf(&p.ObjectMeta)}})
				got := ""
				if i, ok := c.filters.Best(&s.Spec, p.Namespace); ok {
					got = c.nodes[i].Name
					some++
				} else {
					none++
					sameChecks(t, m.checks(p), *c.whyNot(&comeback{key: evictor.PodKey{Namespace: p.Namespace}, spec: s}))
				}
				require.Equal(t, m.best(p), got, step)
			}
		}
	}
	require.Greater(t, some, 1000)
	require.Greater(t, none, 1000)
}

// Names of nodes may be longer than a label's value, and a pod may ask for such a node by name.
func TestANodeOfALongNameIsAskedForByName(t *testing.T) {
	c := newCluster(clockOf(nil))
	long := strings.Repeat("node.", 20) + "example"
	for _, name := range []string{long, "other"} {
		require.NoError(t, c.AddNode(name, zone.Key{}))
	}
	for _, test := range []struct {
		operator v1.NodeSelectorOperator
		values   []string
		want     []string
	}{
		{v1.NodeSelectorOpIn, []string{long}, []string{long}},
		{v1.NodeSelectorOpNotIn, []string{long}, []string{"other"}},
		{v1.NodeSelectorOpExists, nil, nil}, // no API server accepts this
		{v1.NodeSelectorOpIn, []string{long, "other"}, nil},
	} {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
				{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: test.operator, Values: test.values}}},
			}},
		}}}}
		names, best := c.feasible(p)
		require.Equal(t, test.want, names)
		require.Equal(t, len(names) > 0, best != "")
	}
}

// A pod that tolerates a cordon or an outage may come back on a cordoned or silent node.
func TestCordonedAndSilentNodesTakePodsThatTolerateIt(t *testing.T) {
	c := newCluster(clockOf(nil))
	for _, name := range []string{"cordoned", "open"} {
		require.NoError(t, c.AddNode(name, zone.Key{}))
	}
	c.Cordon(&c.nodes[c.nodeByID["cordoned"]], true)
	silent := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "silent"}}
	silent.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
	require.NoError(t, c.AddNodeObject(silent))
	silent = silent.DeepCopy()
	silent.Name, silent.Status.Conditions[0].Type = "never-reported", v1.NodeDiskPressure
	require.NoError(t, c.AddNodeObject(silent))
	for key, want := range map[string][]string{
		"none": {"open"}, v1.TaintNodeUnschedulable: {"cordoned", "open"}, v1.TaintNodeUnreachable: {"open", "silent"}, v1.TaintNodeNotReady: {"never-reported", "open"},
		"": {"cordoned", "never-reported", "open", "silent"},
	} {
		p := &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}}}
		names, _ := c.feasible(p)
		require.Equal(t, want, names, key)
	}
}

// watched tells a test of each pod that changes.
type watched func(evictor.PodKey)

func (w watched) PodChanged(key evictor.PodKey)         { w(key) }
func (watched) NodeChanged(string)                      {}
func (watched) LeaseObserved(string, time.Time, string) {}
func (watched) SetObserverHealth(error)                 {}

// At every instant, a waiting pod finds no node, and a pod that came back is where there was room.
func TestNobodyWaitsWhoFindsANode(t *testing.T) {
	waited, returned := 0, 0
	for seed := range int64(60) {
		r := rand.New(rand.NewSource(seed))
		m := &model{c: newCluster(clockOf(nil)), pods: map[string]*v1.Pod{}, node: map[string]*v1.Node{}}
		s := Scenario{ReplaceAfter: time.Duration(r.Intn(20)) * time.Second, Until: 40 * time.Minute}
		for i := range 6 {
			n := randomNode(r, fmt.Sprint("n", i))
			require.NoError(t, m.c.AddNodeObject(n))
			m.node[n.Name] = n
		}
		for i := range 25 {
			p := randomPod(r, fmt.Sprint("p", i), fmt.Sprint("n", r.Intn(6)))
			bound, err := m.c.AddPodObject(p)
			require.True(t, bound)
			require.NoError(t, err)
			m.pods[p.Namespace+"/"+p.Name] = p
		}
		for i := range 12 {
			e := Event{At: time.Duration(1+3*i) * time.Minute}
			node := fmt.Sprint("n", r.Intn(6))
			switch r.Intn(5) {
			case 0, 1:
				e.Fail = named(node)
			case 2:
				e.Recover = named(node)
			case 3:
				e.Taint = &Taint{Nodes: Nodes{Names: []string{node}}, NodeTaint: NodeTaint{Key: "k", Effect: "NoExecute"}}
			case 4:
				e.Untaint = &Untaint{Nodes: Nodes{Names: []string{node}}, Key: "k", Effect: "NoExecute"}
			}
			s.Events = append(s.Events, e)
		}
		written := func(key evictor.PodKey) *v1.Pod {
			for name := key.Namespace + "/" + key.Name; ; name = name[:len(name)-1] {
				if p := m.pods[name]; p != nil {
					return p
				}
			}
		}
		check := func() {
			for _, q := range m.c.waiting.unschedulable {
				if q.dependent() && m.c.waiting.version != m.c.filters.Version() {
					continue // pods were added meanwhile, so it is tried again at this instant
				}
				for _, b := range q.pods {
					waited++
					require.Empty(t, m.best(written(b.key)), "%d: %s", seed, b.key)
				}
			}
		}
		changed := watched(func(key evictor.PodKey) {
			if _, ok := m.c.findPod(key); ok && m.pods[key.Namespace+"/"+key.Name] == nil {
				m.pods[key.Namespace+"/"+key.Name] = written(key)
				returned++
			}
		})
		_, err := s.playOn(context.Background(), m.c, func(w *World) (Controller, error) {
			if err := w.Clients().Source.Feed(changed); err != nil {
				return nil, err
			}
			e, err := w.NewEvictor(evictor.Options{})
			return StepFunc(func(ctx context.Context) (time.Time, error) {
				check()
				return e.Step(ctx)
			}), err
		})
		require.NoError(t, err)
	}
	require.Greater(t, waited, 100)
	require.Greater(t, returned, 100)
}
