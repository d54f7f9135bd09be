package clientgotest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
)

func TestWhatIsWrittenIsNumbered(t *testing.T) {
	ctx := context.Background()
	given := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	nodes := clientgotest.NewClientset(given).CoreV1().Nodes()
	require.Empty(t, given.ResourceVersion, "the test's own is left alone")
	first, err := nodes.Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "1", first.ResourceVersion)
	patched, err := nodes.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"},"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, "2", patched.ResourceVersion)
	_, err = nodes.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"},"spec":{"unschedulable":false}}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsConflict(err), err)
	_, err = nodes.Update(ctx, first, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), err)
	first.ResourceVersion = ""
	updated, err := nodes.UpdateStatus(ctx, first, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "3", updated.ResourceVersion)
	created, err := nodes.Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "4", created.ResourceVersion)
}

func TestLeasesAreRenewed(t *testing.T) {
	ctx, client := context.Background(), clientgotest.NewClientset()
	for _, want := range []string{"2", "3"} { // the update that found none has spent the first
		require.NoError(t, clientgotest.Renew(ctx, client, "a"))
		lease, err := client.CoordinationV1().Leases("kube-node-lease").Get(ctx, "a", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, want, lease.ResourceVersion)
	}
}
