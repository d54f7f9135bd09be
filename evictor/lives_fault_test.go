package evictor_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evictkit/evictkit/evictor/gate"
)

// livesFault is what the API server does wrong for a while.
type livesFault struct {
	until time.Time
	scope string // one of livesScopes
	kind  string
	ratio int // in percent
	salt  uint64
	calls uint64
}

// livesScopes are what a fault may be about: every write, those of nodes, those of pods, or one kind of write.
var livesScopes = []string{"nodes", "pods", "all", "conditions", "taints", "labels", "mark", "eviction", "taints"}

// livesFaults are the kinds of faults. What is done although the answer says otherwise begins with "done-".
var livesFaults = []string{"conflict", "busy", "busy-retry", "internal", "timeout", "done-timeout", "forbidden", "panic", "done-panic",
	"done-internal", "missing", "invalid", "refused", "refused-again", "slow", "internal", "done-internal"}

// livesScope is the kind of a write, by what is written.
func livesScope(what string) string { return strings.Fields(what)[0] }

func (f *livesFault) is(write string) bool {
	ofPods := write == "mark" || write == "eviction"
	return f.scope == "all" || f.scope == write || f.scope == "pods" && ofPods || f.scope == "nodes" && !ofPods
}

// String tells whether it looks like a trouble of an object's own: an outage is everybody's.
func (f *livesFault) String() string {
	if f.scope == "all" && f.ratio == 100 && slices.Contains([]string{"conflict", "busy", "busy-retry", "internal", "timeout", "done-timeout", "done-internal"}, f.kind) {
		return f.kind
	}
	return "own " + f.kind
}

// bites is the fault that this write meets, if any.
func (w *livesWorld) bites(what string) *livesFault {
	for _, fault := range w.faults {
		if !w.now.Before(fault.until) || !fault.is(livesScope(what)) {
			continue
		}
		fault.calls++
		if int(livesMix(fault.salt+fault.calls)%100) < fault.ratio {
			return fault
		}
	}
	return nil
}

// answers is what comes of a write that meets the fault.
func (f *livesFault) answers(p *livesProcess, scope, what string, do func() error) error {
	resource := schema.GroupResource{Resource: scope}
	if strings.HasPrefix(f.kind, "done-") {
		_ = do()
	}
	switch strings.TrimPrefix(f.kind, "done-") {
	case "conflict":
		return apierrors.NewConflict(resource, what, errors.New("the object has been modified"))
	case "busy":
		return apierrors.NewTooManyRequestsError("too much to do")
	case "busy-retry":
		return apierrors.NewTooManyRequests("too much to do", 3)
	case "internal":
		return apierrors.NewInternalError(errors.New("etcd is ill"))
	case "timeout":
		if f.kind == "timeout" {
			return context.DeadlineExceeded
		}
		return apierrors.NewServerTimeout(resource, "patch", 0)
	case "forbidden":
		return apierrors.NewForbidden(resource, what, errors.New("no"))
	case "missing":
		return apierrors.NewNotFound(resource, what)
	case "invalid":
		return apierrors.NewInvalid(schema.GroupKind{Kind: scope}, what, nil)
	case "refused":
		return &gate.Refused{Reason: "NotNow"}
	case "refused-again":
		return &gate.Refused{Reason: "NotNow", Again: p.wall().Add(20 * time.Second)}
	case "panic":
		panic(errLivesPanic)
	}
	return do() // it was slow, and that is all
}

// livesCertain says whether an answer tells for sure that nothing was done.
func livesCertain(err error) bool {
	var refused *gate.Refused
	return errors.As(err, &refused) || apierrors.IsConflict(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsTooManyRequests(err)
}

// misses notes that something is gone, as the API server says: nothing is owed to it unless it shows up anew.
func (m *livesMind) misses(name string, object metav1.Object, err error) {
	if apierrors.IsNotFound(err) && !reflect.ValueOf(object).IsNil() {
		m.absent[name], m.absent[string(object.GetUID())] = object.GetResourceVersion(), name // a pod is not evicted twice
	}
}
