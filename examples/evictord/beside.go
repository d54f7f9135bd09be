package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/taints"
)

// beside notices that kube-controller-manager still runs the controllers that this program replaces. Nothing in the API
// says which controllers it runs: its Lease says only that it runs. So it shows when it writes: managedFields name it as
// the writer of what only these controllers write, and the object itself says when that was written. Failed nodes are
// looked at one after another, because all else of a node may be written by others of its controllers.
//
// Every client chooses its own name and times, so a kubelet can forge such a write of its node. It can raise the alert, but
// not blind it: a time that has not come yet counts for nothing, or no later write would be later.
type beside struct {
	client    kubernetes.Interface
	nodes     cluster.NodeStore
	clock     clock.PassiveClock
	logger    *slog.Logger
	lifecycle bool      // whether this program replaces the node-lifecycle controller
	evictions bool      // whether it replaces the taint-eviction controller
	last      time.Time // the latest write that has been counted; at first somewhat after the start
	asked     string    // the node looked at last
	writes    *prometheus.CounterVec
}

const (
	besidePeriod = 30 * time.Second
	// besideMargin is how far the clock of kube-controller-manager's machine may be ahead: what it wrote before it was
	// configured anew must not count, nor does what is further ahead than that. An evictor that has just started watches a
	// grace period before it writes, too.
	besideMargin = time.Minute

	upstreamsManager   = "kube-controller-manager"
	lifecycleName      = "node-lifecycle-controller"
	taintEvictionName  = "taint-eviction-controller"
	byTaintManager     = "DeletionByTaintManager"
	shutdownByTheCloud = "node.cloudprovider.kubernetes.io/shutdown" // kube-controller-manager wrote it, too, up to 1.30
)

// newBeside makes one that looks for what the flags replace: for nothing in a dry run, which may run beside
// kube-controller-manager.
func newBeside(client kubernetes.Interface, o *options, nodes cluster.NodeStore, on clock.PassiveClock, logger *slog.Logger) *beside {
	b := &beside{
		client: client, nodes: nodes, clock: on, logger: logger, last: on.Now().Add(besideMargin),
		lifecycle: !o.dryRun && o.half != clientgo.TaintEviction, evictions: !o.dryRun && o.half != clientgo.Lifecycle,
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evictkit_kube_controller_manager_writes_total",
			Help: "Failed nodes on which kube-controller-manager did what only this controller should do, as far as they were looked at.",
		}, []string{"controller"}),
	}
	for name, replaced := range map[string]bool{lifecycleName: b.lifecycle, taintEvictionName: b.evictions} {
		if replaced {
			b.writes.WithLabelValues(name) // from 0 on, so that the first one is an increase
		}
	}
	return b
}

// run looks until ctx ends.
func (b *beside) run(ctx context.Context) {
	if b.lifecycle || b.evictions {
		wait.UntilWithContext(ctx, b.look, besidePeriod)
	}
}

// look asks about the failed node that follows the one before, by name. An error says nothing about anybody: the next
// look is soon.
func (b *beside) look(ctx context.Context) {
	name := b.next()
	if name == "" {
		return
	}
	b.asked = name
	found := map[string][]time.Time{}
	// Lists, because the account may list nodes and pods but need not be allowed to get one.
	if b.lifecycle {
		nodes, err := b.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return
		}
		for i := range nodes.Items { // one, or none any more
			found[lifecycleName] = upstreamJudged(&nodes.Items[i])
		}
	}
	if b.evictions {
		pods, err := b.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
		if err != nil {
			return
		}
		for i := range pods.Items {
			found[taintEvictionName] = append(found[taintEvictionName], upstreamEvicted(&pods.Items[i])...)
		}
	}
	b.count(name, found)
}

// next returns the name of the node to look at, empty if none has failed.
func (b *beside) next() string {
	var failed []string
	b.nodes.Nodes(func(n *v1.Node) bool {
		if ready := nodeReady(n); ready == nil || ready.Status != v1.ConditionTrue || slices.ContainsFunc(n.Spec.Taints, ownNoExecute) {
			failed = append(failed, n.Name)
		}
		return true
	})
	if len(failed) == 0 {
		return ""
	}
	slices.Sort(failed)
	at, found := slices.BinarySearch(failed, b.asked)
	if found {
		at++
	}
	return failed[at%len(failed)]
}

// count counts and tells of writes that are later than any before.
func (b *beside) count(node string, found map[string][]time.Time) {
	last, ahead := b.last, b.clock.Now().Add(besideMargin)
	for controller, times := range found {
		var at time.Time
		for _, wrote := range times {
			if wrote.After(ahead) {
				b.logger.Warn("ignored a write of kube-controller-manager whose time has not come: it is forged, or a clock is wrong", "controller", controller, "node", node, "wrote", wrote)
				continue
			}
			at = later(at, wrote)
		}
		if at.After(b.last) {
			b.writes.WithLabelValues(controller).Inc()
			b.logger.Error("kube-controller-manager still runs a controller that this program replaces: both act", "controller", controller, "node", node, "wrote", at)
			last = later(last, at)
		}
	}
	b.last = last
}

// upstreamJudged returns when kube-controller-manager marked the node Unknown and tainted it, as far as it did.
func upstreamJudged(n *v1.Node) (at []time.Time) {
	if ready := nodeReady(n); ready != nil && ready.Status == v1.ConditionUnknown && upstreamOwns(n.ManagedFields, "f:status", "f:conditions", `k:{"type":"Ready"}`, "f:status") {
		at = append(at, ready.LastTransitionTime.Time)
	}
	// The taints are one field. Its writer wrote our taint unless it may have added another one to ours.
	if !upstreamOwns(n.ManagedFields, "f:spec", "f:taints") || slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == shutdownByTheCloud }) {
		return at
	}
	for i := range n.Spec.Taints {
		if t := &n.Spec.Taints[i]; taints.OwnNoExecute(t) && t.TimeAdded != nil {
			at = append(at, t.TimeAdded.Time)
		}
	}
	return at
}

// upstreamEvicted returns when kube-controller-manager evicted the pod because of a taint, if it did.
func upstreamEvicted(p *v1.Pod) []time.Time {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == v1.DisruptionTarget && c.Reason == byTaintManager &&
			upstreamOwns(p.ManagedFields, "f:status", "f:conditions", `k:{"type":"DisruptionTarget"}`, "f:reason") {
			return []time.Time{c.LastTransitionTime.Time}
		}
	}
	return nil
}

// upstreamOwns says whether kube-controller-manager wrote the field last.
func upstreamOwns(entries []metav1.ManagedFieldsEntry, path ...string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		if e.Manager != upstreamsManager || e.FieldsV1 == nil {
			return false
		}
		raw := json.RawMessage(e.FieldsV1.GetRawBytes())
		for _, step := range path {
			var fields map[string]json.RawMessage
			if json.Unmarshal(raw, &fields) != nil {
				return false
			}
			var has bool
			if raw, has = fields[step]; !has {
				return false
			}
		}
		return true
	})
}

func nodeReady(n *v1.Node) *v1.NodeCondition {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == v1.NodeReady {
			return c
		}
	}
	return nil
}

func ownNoExecute(t v1.Taint) bool { return taints.OwnNoExecute(&t) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
