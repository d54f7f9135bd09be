package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// agent acts for one node.
type agent struct {
	flags

	client   kubernetes.Interface
	read     reader
	out      io.Writer
	factory  informers.SharedInformerFactory
	pods     listers.PodLister // those of the node
	events   record.EventBroadcaster
	recorder record.EventRecorder
	// conditions holds the newest decision's, if they are not written yet.
	conditions chan []v1.NodeConditionType
	said       string
	// gone is when the last pod that was evicted was gone, in nanoseconds.
	gone atomic.Int64
}

// run acts until the context ends.
func (a *agent) run(ctx context.Context, machine *nodepressure.Machine) error {
	ctx, stop := context.WithCancel(ctx)
	defer a.factory.Shutdown()
	defer a.events.Shutdown()
	a.events.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: a.client.CoreV1().Events("")})
	written := make(chan struct{})
	defer func() { <-written }()
	defer stop()
	go func() {
		defer close(written)
		a.writeConditions(ctx)
	}()
	a.factory.Start(ctx.Done())
	for kind, synced := range a.factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("%s were not listed: %w", kind, context.Cause(ctx))
		}
	}
	config := nodepressure.DefaultManagerConfig()
	config.OnDecision, config.OnError = a.decided, func(err error) { a.say(err.Error()) }
	manager, err := nodepressure.NewManager(machine, nodepressure.Clients{StatsProvider: a, Killer: a}, config)
	if err != nil {
		return err
	}
	if err := manager.Run(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// decided says what was decided, if that is new, and passes the conditions on.
func (a *agent) decided(d nodepressure.Decision) {
	why := d.Why()
	if d.Sample.Time.IsZero() {
		a.say(why)
	} else {
		a.say(fmt.Sprintf("%s (measured %s ago)", why, time.Since(d.Sample.Time).Round(time.Second)))
	}
	select {
	case <-a.conditions: // the last ones were not written yet
	default:
	}
	a.conditions <- d.Conditions
}

func (a *agent) say(text string) {
	if text != a.said {
		a.said = text
		fmt.Fprintln(a.out, time.Now().Format(time.TimeOnly), text)
	}
}

// Kill implements nodepressure.Killer. It writes into the pod's status why it must go, deletes it, and waits until it is
// gone.
func (a *agent) Kill(ctx context.Context, eviction nodepressure.Eviction) error {
	if !a.act {
		return nil
	}
	pods := a.client.CoreV1().Pods(eviction.Pod.Namespace)
	var pod *v1.Pod
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		// The informer may be behind. Only this very pod may go, and only if it is not protected.
		pod, err = pods.Get(ctx, eviction.Pod.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case pod.UID != eviction.Pod.UID:
			return apierrors.NewNotFound(v1.Resource("pods"), pod.Name)
		case nodepressure.ProtectionOf(pod) != nodepressure.Evictable:
			return fmt.Errorf("it has become a %s", nodepressure.ProtectionOf(pod))
		}
		eviction.Apply(&pod.Status, metav1.Now())
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == v1.DisruptionTarget {
				c.ObservedGeneration = pod.Generation
			}
		}
		_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	})
	if err == nil {
		a.recorder.AnnotatedEventf(pod, eviction.Annotations, v1.EventTypeWarning, nodepressure.Reason, "%s", eviction.Message)
		seconds := max(eviction.GracePeriodSeconds, 1) // 0 would remove it from the API while it still runs
		err = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &seconds, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	for !a.CleanedUp(eviction.Pod) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	a.gone.Store(time.Now().UnixNano())
	return nil
}

// CleanedUp reports whether the kubelet has ended the pod, so that the API has it no more.
func (a *agent) CleanedUp(pod *v1.Pod) bool {
	known, err := a.pods.Pods(pod.Namespace).Get(pod.Name)
	return !a.act || apierrors.IsNotFound(err) || err == nil && known.UID != pod.UID
}
