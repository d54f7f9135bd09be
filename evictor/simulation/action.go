package simulation

import (
	"errors"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/zone"
)

// Action is something that happens to nodes, pods or the API, either as an Event or because a controller calls World.Do.
// Make one with the functions below, such as Fail. The zero Action is an error.
type Action struct {
	event scenario.Event
	err   error
}

// Nodes selects nodes: those in Names, or those that match Zone and Labels. With only Count or Percent set, it selects
// among all nodes. A name that does not exist is an error. The zero Nodes is an error too, so that a forgotten field
// does not select the whole cluster; use Percent: 100 for that.
type Nodes struct {
	Names []string
	Zone  string // the zone's name; region:name if two regions have a zone of that name
	// Labels is a label selector in kubectl's syntax, such as pool=gpu,!spot.
	Labels string
	// Count and Percent limit the selection, for example to nodes that have not failed yet for Fail. Nodes are taken in
	// the order of their names, or in the order that Seed gives. Percent is a share of all selected nodes. If both are 0,
	// all are taken.
	Count   int
	Percent float64
	// Seed, if not 0, shuffles the order in which Count and Percent take nodes. Equal seeds give equal orders.
	Seed int64
}

// selector converts the selection to the engine's type.
func (n Nodes) selector() (s scenario.Selector, err error) {
	if s.Nodes = n.Names; len(n.Names) == 1 && n.Names[0] != "" {
		s.Node, s.Nodes = n.Names[0], nil // so that String names the node
	}
	if n.Zone != "" {
		s.Zone = &n.Zone
	}
	if n.Labels != "" || n.Zone == "" && len(n.Names) == 0 && (n.Count != 0 || n.Percent != 0) {
		labels := scenario.LabelSelector(n.Labels)
		s.Labels = &labels
	}
	if n.Count != 0 {
		s.Count = &n.Count
	}
	if n.Percent != 0 {
		s.Percent = &n.Percent
	}
	if n.Seed != 0 {
		s.Seed = &n.Seed
	}
	if len(n.Names) == 0 && !s.Several() {
		err = errors.New("nodes: nothing is selected: set Names, Zone, Labels, Count or Percent")
	}
	return s, err
}

// toNodes makes an action on the selected nodes.
func toNodes(n Nodes, event func(scenario.Selector) scenario.Event) Action {
	s, err := n.selector()
	return Action{event(s), err}
}

// Fail stops kubelets: they do not renew their leases or report status, their pods do not run, and pods that are deleted
// stay terminating. It does nothing to nodes that have failed already.
func Fail(nodes Nodes) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event { return scenario.Event{Fail: &s} })
}

// Recover ends Fail and Partition: kubelets renew their leases and report Ready at once, and finish the pods that were
// deleted meanwhile. Use it for a controller that reboots nodes.
func Recover(nodes Nodes) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event { return scenario.Event{Recover: &s} })
}

// Partition cuts kubelets off from the API and nothing else: their pods keep running. Reach is the share of clients that
// still reach these pods, from 0 to 1.
func Partition(nodes Nodes, reach float64) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event {
		return scenario.Event{Partition: &scenario.Partition{Selector: s, Clients: &reach}}
	})
}

// LoseLeases makes the watch that feeds controllers lose the lease renewals of these nodes. Their kubelets renew all the
// same, and Clients.Confirmer sees it.
func LoseLeases(nodes Nodes) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event {
		return scenario.Event{LoseLeases: &scenario.LoseLeases{Selector: s}}
	})
}

// LagLeases makes that watch show the lease renewals of these nodes later, by that much. ShowLeases ends it, too.
func LagLeases(nodes Nodes, by time.Duration) Action {
	later := scenario.Duration(by)
	return toNodes(nodes, func(s scenario.Selector) scenario.Event {
		return scenario.Event{LoseLeases: &scenario.LoseLeases{Selector: s, ShowAfter: &later}}
	})
}

// ShowLeases ends LoseLeases and LagLeases, from the nodes' next renewals on.
func ShowLeases(nodes Nodes) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event { return scenario.Event{ShowLeases: &s} })
}

// Condition makes live kubelets report the condition from now on.
func Condition(nodes Nodes, kind v1.NodeConditionType, status v1.ConditionStatus) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event {
		return scenario.Event{Condition: &scenario.Condition{Selector: s, Type: string(kind), Status: string(status)}}
	})
}

// Taint adds a taint, or replaces the one with the same key and effect. Its TimeAdded is now.
func Taint(nodes Nodes, taint v1.Taint) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event {
		return scenario.Event{Taint: &scenario.Taint{Selector: s, Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)}}
	})
}

// Untaint removes the taint with this key and effect from the nodes that have it.
func Untaint(nodes Nodes, key string, effect v1.TaintEffect) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event {
		return scenario.Event{Untaint: &scenario.Untaint{Selector: s, Key: key, Effect: string(effect)}}
	})
}

// Cordon makes nodes unschedulable.
func Cordon(nodes Nodes) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event { return scenario.Event{Cordon: &s} })
}

// Uncordon makes nodes schedulable again and stops a Drain in progress.
func Uncordon(nodes Nodes) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event { return scenario.Event{Uncordon: &s} })
}

// Drain cordons nodes and evicts their pods as kubectl drain does: through the eviction API, with a retry every 5 seconds
// for pods that a disruption budget protects. Pods of DaemonSets stay.
func Drain(nodes Nodes) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event { return scenario.Event{Drain: &s} })
}

// DeleteNodes deletes nodes and their pods.
func DeleteNodes(nodes Nodes) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event { return scenario.Event{DeleteNode: &s} })
}

// ReplaceNodes deletes nodes and their pods. New nodes register under the same names after the given time. They have the
// same labels, resources and DaemonSet pods, and the taints that the old nodes had at first.
func ReplaceNodes(nodes Nodes, after time.Duration) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event {
		return scenario.Event{ReplaceNode: &scenario.ReplaceNode{Selector: s, After: duration(after)}}
	})
}

// Roll drains each node, replaces it as ReplaceNodes does once it is empty, and waits that long before the next.
func Roll(nodes Nodes, after, wait time.Duration) Action {
	return toNodes(nodes, func(s scenario.Selector) scenario.Event {
		return scenario.Event{Roll: &scenario.Roll{Selector: s, After: duration(after), Wait: duration(wait)}}
	})
}

// AddNode adds a node that is Ready at once. It uses the object's name, labels, taints, spec.unschedulable and allocatable
// resources (the capacity if there are none).
func AddNode(node *v1.Node) Action {
	if node == nil {
		return Action{err: errors.New("addNode: the node is nil")}
	}
	key := zone.KeyOf(node.Labels)
	add := scenario.AddNode{Name: node.Name, Zone: key.Zone, Region: key.Region}
	add.Unschedulable = node.Spec.Unschedulable
	add.Labels = maps.Clone(node.Labels)
	for _, label := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion} {
		delete(add.Labels, label) // Zone and Region stand for them
	}
	for _, t := range node.Spec.Taints {
		add.Taints = append(add.Taints, scenario.NodeTaint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	resources := node.Status.Allocatable
	if resources == nil {
		resources = node.Status.Capacity
	}
	for name, amount := range resources {
		if add.Capacity == nil {
			add.Capacity = make(map[string]scenario.Quantity, len(resources))
		}
		add.Capacity[string(name)] = scenario.Quantity(amount.String())
	}
	return Action{event: scenario.Event{AddNode: &add}}
}

// DeletePod deletes a pod: on a live node it goes at once, on a silent node it stays terminating. If the pod has been
// evicted meanwhile, DeletePod does nothing.
func DeletePod(pod evictor.PodKey) Action {
	return Action{event: scenario.Event{DeletePod: &scenario.DeletePod{Name: pod.String()}}}
}

// ForceDeletePod removes a pod's object at once, without waiting for its kubelet.
func ForceDeletePod(pod evictor.PodKey) Action {
	return Action{event: scenario.Event{ForceDelete: &scenario.DeletePod{Name: pod.String()}}}
}

// APIDown makes every API call of controllers and kubelets fail until APIUp or APISlow. Reads from a store do not call the
// API.
func APIDown() Action { return api(scenario.API{State: scenario.APIDown}) }

// APISlow delays the effect of every write, also of kubelets, by the latency, until APIUp or APIDown. A kubelet cannot
// renew its lease if the latency is as long as the interval between renewals.
func APISlow(latency time.Duration) Action {
	return api(scenario.API{State: scenario.APISlow, Latency: duration(latency)})
}

// APIUp ends APIDown and APISlow.
func APIUp() Action { return api(scenario.API{State: scenario.APIUp}) }

func api(a scenario.API) Action { return Action{event: scenario.Event{API: &a}} }

// Restart replaces all controllers with new ones; the old ones are not called again. It works only as an Event, not in
// World.Do.
func Restart() Action { return Action{event: scenario.Event{Restart: &scenario.Restart{}}} }

// String describes the action in words, such as "fail 2 nodes of zone a".
func (a Action) String() string {
	if a.err != nil {
		return fmt.Sprintf("an invalid action (%v)", a.err)
	}
	return a.event.String()
}
