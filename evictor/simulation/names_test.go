package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/zone"
)

func TestNames(t *testing.T) {
	for _, test := range []struct {
		nodes, i int
		want     string
	}{
		{1, 0, "a-000"}, {1000, 999, "a-999"}, {1001, 0, "a-0000"}, {1001, 1000, "a-1000"}, {100001, 7, "a-000007"},
	} {
		require.Equal(t, test.want, (&Zone{Name: "a", Nodes: test.nodes}).NodeName(test.i))
	}
	require.Equal(t, "a-000-p12", podNameOf("a-000", 12))
	require.Equal(t, "a-000-ds0", daemonSetPodName("a-000", 0))

	for text, want := range map[string][2]string{"x": {"default", "x"}, "shop/x": {"shop", "x"}} {
		namespace, name := splitPodName(text)
		require.Equal(t, want, [2]string{namespace, name})
		require.Equal(t, text, joinPodName(namespace, name))
	}
}

func TestResolveZone(t *testing.T) {
	exist := []zone.Key{{Region: "r1", Zone: "a"}, {Region: "r2", Zone: "a"}, {Zone: "b"}, {}, {Region: "r1", Zone: "c"}}
	for ref, want := range map[string]zone.Key{
		"r1:a": exist[0], "r2:a": exist[1], "b": exist[2], ":b": exist[2], "": {}, ":": {}, "c": exist[4],
	} {
		got, err := resolveZone(ref, exist)
		require.NoError(t, err, ref)
		require.Equal(t, want, got, ref)
	}
	for _, ref := range []string{"d", "r2:b", ":c", "r1:"} {
		_, err := resolveZone(ref, exist)
		require.EqualError(t, err, `zone "`+ref+`" does not exist: the zones are "b", "r1:a", "r1:c", "r2:a"`)
	}
	_, err := resolveZone("a", exist)
	require.EqualError(t, err, `zone "a" is ambiguous: write one of "r1:a", "r2:a"`)
}
