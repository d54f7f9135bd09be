package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestAKubeletThatRenewsTooRarelyIsWarnedOf: a lease of 200 s is renewed every 50 s, which is the usual grace period.
func TestAKubeletThatRenewsTooRarelyIsWarnedOf(t *testing.T) {
	client := fake.NewClientset()
	for node, seconds := range map[string]int32{"usual": 40, "slow": 160, "rare": 200, "rarest": 400, "unsaid": 0} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: v1.NamespaceNodeLease}}
		if seconds > 0 {
			lease.Spec.LeaseDurationSeconds = &seconds
		}
		_, err := client.CoordinationV1().Leases(v1.NamespaceNodeLease).Create(t.Context(), lease, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	const rare = "grace=50s kubelets=2 node=rarest nodeLeaseDurationSeconds=400 renewsEvery=1m40s"
	for flags, want := range map[string]string{"": rare, "--dry-run": rare, "--half=lifecycle": rare, "--node-monitor-grace-period=3m": "", "--half=taint-eviction": ""} {
		var log bytes.Buffer
		args := []string{flags}
		if flags == "" {
			args = nil
		}
		o, err := parse(args, io.Discard)
		require.NoError(t, err)
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), beatsPeriod)
			defer stop()
			newBeats(client, &o, slog.New(slog.NewTextHandler(&log, nil))).run(ctx)
		})
		if want == "" {
			require.Empty(t, log.String(), flags)
		} else {
			require.Contains(t, log.String(), want, flags)
			require.Equal(t, 1, strings.Count(log.String(), "\n"), flags)
		}
	}
}

// TestLeasesThatCannotBeRead are said to be unread: a warning that is missing would pass for none to give.
func TestLeasesThatCannotBeRead(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("denied")
	})
	var log bytes.Buffer
	b := &beats{client: client, grace: time.Minute, logger: slog.New(slog.NewTextHandler(&log, nil))}
	b.look(t.Context())
	require.Contains(t, log.String(), "the leases could not be read")
	require.Contains(t, log.String(), "err=denied")
	log.Reset()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	b.look(stopped)
	require.Empty(t, log.String(), "a program that ends has nothing to say")
}
