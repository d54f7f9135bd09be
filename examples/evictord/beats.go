package main

import (
	"context"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// beats warns of kubelets that renew their leases too rarely for the grace period. The flags do not say how often they do:
// each kubelet has a nodeLeaseDurationSeconds of its own, which its lease names.
type beats struct {
	client kubernetes.Interface
	grace  time.Duration // 0 if this program judges no nodes
	logger *slog.Logger
}

const (
	beatsFirst  = time.Minute // not at once: a start has enough to list
	beatsPeriod = time.Hour
	beatsPage   = 500 // leases
	// beatsInALease is how often a kubelet renews its lease while it lasts.
	beatsInALease = 4
)

func newBeats(client kubernetes.Interface, o *options, logger *slog.Logger) *beats {
	b := &beats{client: client, logger: logger}
	if o.half != clientgo.TaintEviction {
		b.grace = o.evictor.Nodes.NodeMonitorGracePeriod
	}
	return b
}

// run looks until ctx ends.
func (b *beats) run(ctx context.Context) {
	if b.grace == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(beatsFirst):
		wait.UntilWithContext(ctx, b.look, beatsPeriod)
	}
}

// look reads all leases. If it cannot, it says so, and the next look says what this one would have said.
func (b *beats) look(ctx context.Context) {
	rare, slowest, longest := 0, "", time.Duration(0)
	for options := (metav1.ListOptions{Limit: beatsPage}); ; {
		page, err := b.client.CoordinationV1().Leases(v1.NamespaceNodeLease).List(ctx, options)
		if err != nil {
			if ctx.Err() == nil {
				b.logger.Info("how often kubelets renew their leases is not known: the leases could not be read", "err", err)
			}
			return
		}
		for i := range page.Items {
			lease := &page.Items[i]
			if lease.Spec.LeaseDurationSeconds == nil {
				continue
			}
			lasts := time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
			if keeps(b.grace, lasts/beatsInALease) {
				continue
			}
			if rare++; lasts > longest {
				slowest, longest = lease.Name, lasts
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	if rare > 0 {
		b.logger.Warn("--node-monitor-grace-period is too short for some kubelets: nodes that are well become Unknown between two renewals of their leases",
			"grace", b.grace, "kubelets", rare, "node", slowest, "nodeLeaseDurationSeconds", longest.Seconds(), "renewsEvery", longest/beatsInALease)
	}
}

// keeps says whether a kubelet that renews its lease so often is never silent for the grace period while it is well. It adds
// up to 4 % to the time between two renewals.
func keeps(grace, renewed time.Duration) bool { return grace > renewed*11/10 }
