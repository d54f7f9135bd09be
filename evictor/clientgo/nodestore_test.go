package clientgo

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

func versionOf(version string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: version}}
}

// TestWhatWasWrittenIsForgotten once the informer has it or something later, or the node is gone.
func TestWhatWasWrittenIsForgotten(t *testing.T) {
	informer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	s := newNodeStore(informer, func() bool { return true })
	seen := s.seen()
	version := func() string {
		n, ok := s.Node("n")
		require.True(t, ok)
		return n.ResourceVersion
	}
	require.NoError(t, informer.Add(versionOf("5")))
	s.wrote(versionOf("9"))
	require.Equal(t, "9", version())
	require.NoError(t, informer.Update(versionOf("7"))) // somebody else's, before ours
	seen.OnUpdate(nil, versionOf("7"))
	require.Equal(t, "9", version())
	require.NoError(t, informer.Update(versionOf("10")))
	require.Equal(t, "10", version(), "also before the handler is told")
	seen.OnUpdate(nil, versionOf("10"))
	require.Empty(t, s.written)

	s.wrote(versionOf("8"))
	require.Empty(t, s.written, "an answer that comes late is no news")
	s.wrote(versionOf("not a number"))
	require.Empty(t, s.written)
	s.wrote(versionOf("11"))
	require.NoError(t, informer.Delete(versionOf("10")))
	_, ok := s.Node("n")
	require.False(t, ok)
	seen.OnDelete(cache.DeletedFinalStateUnknown{Key: "n", Obj: versionOf("10")})
	require.Empty(t, s.written)
	s.wrote(versionOf("12"))
	require.Empty(t, s.written, "there is no such node")
}
