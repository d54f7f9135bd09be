package stack

import (
	"context"
	"errors"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/taints"
)

// clusters has one for each client, so that its evictions share what is known of budgets.
var clusters sync.Map

// Evict evicts with clientgo's writer, which knows the pod's UID, as an evictor does, and uses the eviction API.
func Evict(ctx context.Context, client clientset.Interface, eviction *policyv1.Eviction) error {
	made, err := clientgo.New(client, clientgo.Options{EvictionAPI: true})
	if err != nil {
		return err
	}
	cluster := made
	if kept, was := clusters.LoadOrStore(client, made); was {
		cluster, _ = kept.(*clientgo.Cluster)
	}
	pod, err := client.CoreV1().Pods(eviction.Namespace).Get(ctx, eviction.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: pod.Namespace, Name: pod.Name}, UID: pod.UID}
	if o := eviction.DeleteOptions; o != nil {
		if o.Preconditions != nil && o.Preconditions.UID != nil {
			ref.UID = *o.Preconditions.UID
		}
		if len(o.DryRun) > 0 {
			return cluster.CheckEviction(ctx, ref)
		}
	}
	return cluster.Clients().PodWriter.Evict(ctx, ref, taints.Deadline{})
}

// EvictPatiently tries again when a refusal says so, once: what the first answer was may be known from an earlier call.
func EvictPatiently(ctx context.Context, client clientset.Interface, eviction *policyv1.Eviction) error {
	err := Evict(ctx, client, eviction)
	var refused *gate.Refused
	if errors.As(err, &refused) && time.Until(refused.Again) > 0 {
		select {
		case <-time.After(time.Until(refused.Again)):
			return Evict(ctx, client, eviction)
		case <-ctx.Done():
		}
	}
	return err
}
