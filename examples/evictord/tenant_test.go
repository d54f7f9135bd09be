package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
	"github.com/evictkit/evictkit/evictor/gate"
)

// twoBudgets is the API server's answer to the eviction of a pod that two disruption budgets select. It has no reason.
var twoBudgets = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
	Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
}}

// tenants are nodes, and 21 pods on the first of them.
func tenants(nodes int) (objects []runtime.Object) {
	seconds := int64(300)
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), UID: types.UID(nodeName(i)), CreationTimestamp: metav1.Now()}}
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
		objects = append(objects, n)
	}
	for i := range 21 {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: fmt.Sprint("p-", i), UID: types.UID(fmt.Sprint("p-", i))}}
		p.Spec.NodeName, p.Status.Phase = nodeName(0), v1.PodRunning
		for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
			p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
		objects = append(objects, p)
	}
	return objects
}

// TestATenantsPodsCostNoLease: 21 pods with two disruption budgets each are all that is written in three outages of ten
// minutes. The leader leads on, is ready, and counts nothing for which EvictkitWritesFail fires.
func TestATenantsPodsCostNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientgotest.NewClientset(tenants(4)...)
		client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			return action.GetSubresource() == "eviction", nil, twoBudgets
		})
		cluster, err := clientgo.New(client, clientgo.Options{EvictionAPI: true})
		require.NoError(t, err)
		leader := newTerms(func() *leadership {
			return newLeadership(client, usualElection, cluster.MayLead, slog.New(slog.DiscardHandler))
		})
		m := metrics.New(metrics.Options{})
		e, err := evictor.New(evictor.DefaultConfig(), m.Clients(cluster.Clients()), evictor.Options{Observer: m, Gate: gate.Leader(leader.mayWrite)})
		require.NoError(t, err)
		m.Watch(e.Nodes(), e.Pods(), cluster.Health)
		handler := observed(m, leader.healthy, cluster.Parts, new(security).guard)
		served := func(path string) (int, string) {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
			return answer.Code, answer.Body.String()
		}
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- runAll(ctx, cluster, leader, e.Run) }()
		lasts := func(d time.Duration, alive ...string) {
			for ; d > 0; d -= 10 * time.Second {
				require.NoError(t, clientgotest.Renew(t.Context(), client, alive...))
				for range 10 {
					time.Sleep(time.Second)
					require.NoError(t, leader.mayWrite())
					code, text := served("/readyz")
					require.Equal(t, http.StatusOK, code, text)
				}
			}
		}
		others := []string{nodeName(1), nodeName(2), nodeName(3)}
		all := append([]string{nodeName(0)}, others...)
		require.NoError(t, clientgotest.Renew(t.Context(), client, all...))
		time.Sleep(5 * time.Second) // until it leads
		lasts(time.Minute, all...)
		for range 3 {
			lasts(10*time.Minute, others...)
			_, err := client.CoreV1().Nodes().Patch(t.Context(), nodeName(0), types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
			require.NoError(t, err)
			lasts(2*time.Minute, all...)
		}
		_, text := served("/metrics")
		var failed []string
		for _, match := range regexp.MustCompile(`(?m)^evictkit_api_errors_total\{(.*)\}`).FindAllStringSubmatch(text, -1) {
			failed = append(failed, match[1])
		}
		require.Equal(t, []string{`operation="evict",reason="InternalError"`}, failed)
		stop()
		require.NoError(t, <-ran)
	})
}
