package metrics

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
)

// Clients wraps the clients: it measures their writes. If their Source is a clientgo.Cluster, it counts the events that the API
// server refuses, too.
func (m *Metrics) Clients(clients evictor.Clients) evictor.Clients {
	if c, ok := clients.Source.(*clientgo.Cluster); ok && c != nil {
		c.OnEventError(func(err error) { m.eventErrors.WithLabelValues(reasonOf(err)).Inc() })
	}
	if clients.NodeWriter != nil { // else evictor.New says that it is missing
		clients.NodeWriter = &nodeWriter{clients.NodeWriter, m}
	}
	if clients.PodWriter != nil {
		clients.PodWriter = &podWriter{clients.PodWriter, m}
	}
	return clients
}

type nodeWriter struct {
	nodelifecycle.NodeWriter
	m *Metrics
}

func (w *nodeWriter) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	began := w.m.clock.Now()
	err := w.NodeWriter.UpdateConditions(ctx, node, conditions)
	w.m.nodeUpdate.Observe(w.m.clock.Since(began).Seconds())
	return w.m.count("conditions", err)
}

func (w *nodeWriter) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error {
	return w.m.count("taints", w.NodeWriter.UpdateTaints(ctx, node, change))
}

func (w *nodeWriter) UpdateLabels(ctx context.Context, node *v1.Node, labels map[string]string) error {
	return w.m.count("labels", w.NodeWriter.UpdateLabels(ctx, node, labels))
}

type podWriter struct {
	nodelifecycle.PodWriter
	m *Metrics
}

func (w *podWriter) Evict(ctx context.Context, pod evictor.PodRef, why taints.Deadline) error {
	return w.m.count("evict", w.PodWriter.Evict(ctx, pod, why))
}

func (w *podWriter) MarkNotReady(ctx context.Context, pod evictor.PodRef) error {
	return w.m.count("mark", w.PodWriter.MarkNotReady(ctx, pod))
}

// count counts an error and returns it. An error without a status did not come from the API server. A refusal without one is
// no failure: nothing was sent.
func (m *Metrics) count(operation string, err error) error {
	var answer apierrors.APIStatus
	if no := (*gate.Refused)(nil); err == nil || errors.As(err, &no) && !errors.As(err, &answer) {
		return err
	}
	m.apiErrors.WithLabelValues(operation, reasonOf(err)).Inc()
	return err
}

// reasonOf names the kind of an error. An answer of the API server may have a code and no reason: that two disruption
// budgets select a pod is such a 500, and webhooks give what they like, which is no kind.
func reasonOf(err error) string {
	var answer apierrors.APIStatus
	switch {
	case errors.As(err, &answer):
		reason := answer.Status().Reason
		if !slices.Contains(reasons, reason) {
			reason = apierrors.NewGenericServerResponse(int(answer.Status().Code), "", schema.GroupResource{}, "", "", 0, false).ErrStatus.Reason
		}
		if reason == metav1.StatusReasonUnknown {
			return "Unknown"
		}
		return string(reason)
	case errors.Is(err, context.DeadlineExceeded):
		return "NoAnswer"
	default:
		return "Unreachable"
	}
}

// reasons are those of an API server.
var reasons = []metav1.StatusReason{
	metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
	metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid, metav1.StatusReasonServerTimeout,
	metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest, metav1.StatusReasonMethodNotAllowed,
	metav1.StatusReasonNotAcceptable, metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType,
	metav1.StatusReasonInternalError, metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable,
}

// Transport wraps a RoundTripper to count its requests, for rest.Config.Wrap.
func (m *Metrics) Transport(next http.RoundTripper) http.RoundTripper {
	return transport{next: next, m: m}
}

type transport struct {
	next http.RoundTripper
	m    *Metrics
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	t.m.requests.WithLabelValues(code, request.Method, request.URL.Host).Inc()
	return response, err
}

// WrappedRoundTripper lets client-go unwrap it.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
