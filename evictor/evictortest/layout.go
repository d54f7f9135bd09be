package evictortest

import (
	"fmt"
	"maps"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/zone"
)

// layout is what New makes.
type layout struct {
	given       map[string]bool // options that may be given only once
	fault       string
	zones       []zoneLayout
	podsPerNode int
	nodeLabels  func(node string) map[string]string
	podLabels   func(pod string) map[string]string
	tolerations []v1.Toleration
	interval    time.Duration
	report      time.Duration
	notReadyFor time.Duration
}

type zoneLayout struct {
	key   zone.Key
	nodes int
}

// Option says how New lays the cluster out.
type Option func(*layout)

// Zone adds a zone with that many nodes, named <name>-0, <name>-1, …; "region:zone" gives it a region too.
func Zone(name string, nodes int) Option {
	return func(l *layout) {
		key := zone.Key{Zone: name}
		if region, rest, ok := strings.Cut(name, ":"); ok {
			key = zone.Key{Region: region, Zone: rest}
		}
		if nodes < 0 {
			l.fault = fmt.Sprintf("Zone(%q, %d): the number of nodes must not be negative", name, nodes)
		}
		for _, other := range l.zones {
			switch {
			case other.key == key:
				l.fault = fmt.Sprintf("Zone(%q, %d): the zone is given twice", name, nodes)
			case other.key.Zone == key.Zone:
				l.fault = fmt.Sprintf("Zone(%q, %d): the names of its nodes are those of zone %s", name, nodes, other.key)
			}
		}
		l.zones = append(l.zones, zoneLayout{key, nodes})
	}
}

// PodsPerNode gives every node that many pods in namespace default, owned by a ReplicaSet and named <node>-p0,
// <node>-p1, …
func PodsPerNode(n int) Option {
	return once("PodsPerNode", func(l *layout) {
		if n < 0 {
			l.fault = fmt.Sprintf("PodsPerNode(%d): the number must not be negative", n)
		}
		l.podsPerNode = n
	})
}

// NodeLabels gives every node the labels that the function returns for its name, in addition to those of its zone,
// region, operating system and architecture.
func NodeLabels(labels func(node string) map[string]string) Option {
	return once("NodeLabels", func(l *layout) { l.nodeLabels = labels })
}

// PodLabels gives every pod of PodsPerNode the labels that the function returns for its name. By default they have none.
func PodLabels(labels func(pod string) map[string]string) Option {
	return once("PodLabels", func(l *layout) { l.podLabels = labels })
}

// once makes an option that may be given only once, because a second one would silently replace it.
func once(name string, option Option) Option {
	return func(l *layout) {
		if l.given[name] {
			l.fault = name + " is given twice"
		}
		l.given[name] = true
		option(l)
	}
}

// Tolerations replaces the pods' tolerations. By default they tolerate not-ready and unreachable for 300 seconds, as
// the API server's admission sets it.
func Tolerations(tolerations ...v1.Toleration) Option {
	return once("Tolerations", func(l *layout) { l.tolerations = tolerations })
}

// Heartbeats replaces the periods of the kubelets' lease renewals and status reports, 10s and 5m by default. Both must be
// positive.
func Heartbeats(lease, status time.Duration) Option {
	return once("Heartbeats", func(l *layout) { l.interval, l.report = lease, status })
}

// NotReadyFor makes each kubelet that starts report that it is not Ready for that long, as real ones do for about 15 seconds:
// that of an added node, and that of a node that Recover brings back. It renews its lease meanwhile. By default it is Ready at once.
func NotReadyFor(d time.Duration) Option {
	return once("NotReadyFor", func(l *layout) { l.notReadyFor = d })
}

// add adds the nodes and pods of the layout.
func (l *layout) add(object func(runtime.Object) error) error {
	controller := true
	for _, z := range l.zones {
		owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: z.key.Zone, Controller: &controller}}
		for i := range z.nodes {
			name := fmt.Sprintf("%s-%d", z.key.Zone, i)
			if err := object(newNode(name, Epoch, labelled(z.key, l.nodeLabels(name)))); err != nil {
				return err
			}
			for k := range l.podsPerNode {
				pod := newPod(fmt.Sprintf("%s-p%d", name, k), name, Epoch, l.tolerations)
				pod.OwnerReferences, pod.Labels = owner, maps.Clone(l.podLabels(pod.Name))
				if err := object(pod); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// labelled returns the labels of a node in that zone. An empty part of the key has none.
func labelled(key zone.Key, own map[string]string) map[string]string {
	all := map[string]string{v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"}
	maps.Copy(all, own)
	if key.Zone != "" {
		all[v1.LabelTopologyZone] = key.Zone
	}
	if key.Region != "" {
		all[v1.LabelTopologyRegion] = key.Region
	}
	return all
}

// newNode returns a node that a World takes for a healthy one.
func newNode(name string, created time.Time, labels map[string]string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: stamp(created)}}
}

// newPod returns a pod that is Ready and was scheduled when it was created.
func newPod(name, node string, created time.Time, tolerations []v1.Toleration) *v1.Pod {
	namespace, name := split(name)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: stamp(created)},
		Spec:       v1.PodSpec{NodeName: node, Tolerations: tolerations},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{
			{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: stamp(created)},
		}},
	}
}

// stamp returns a time as API objects have it: truncated to whole seconds.
func stamp(at time.Time) metav1.Time { return metav1.NewTime(at.Truncate(time.Second)) }

// TolerateFor returns a toleration of the NoExecute taint with that key, for that many seconds.
func TolerateFor(key string, seconds int64) v1.Toleration {
	return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}
}
