package objects_test

import (
	"fmt"
	"io"
	"os"
	"runtime/metrics"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/examples/objects"
)

// generator is a file that is generated while it is read: a head, then items until size is reached, then a tail.
type generator struct {
	item    func(dst []byte, i int) []byte
	tail    string
	size    int
	made    int
	items   int
	pending []byte
	buffer  []byte
	ended   bool
}

func (g *generator) Read(p []byte) (int, error) {
	if len(g.pending) == 0 {
		switch {
		case g.made < g.size:
			g.buffer = g.item(g.buffer[:0], g.items)
			g.items++
		case !g.ended:
			g.ended = true
			g.buffer = append(g.buffer[:0], g.tail...)
		default:
			return 0, io.EOF
		}
		g.pending = g.buffer
		g.made += len(g.buffer)
	}
	n := copy(p, g.pending)
	g.pending = g.pending[n:]
	return n, nil
}

const (
	jsonPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-%d","namespace":"shop","uid":"u-%[1]d","labels":{"app":"shop","tier":"front"},` +
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"shop","uid":"rs","controller":true}]},` +
		`"spec":{"nodeName":"node-%[1]d","containers":[{"name":"main","image":"registry.example/shop:1","resources":{"requests":{"cpu":"6","memory":"1Gi"}}}],` +
		`"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]},` +
		`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2023-07-05T00:01:00Z"}]}}`
	yamlPod = `  apiVersion: v1
  kind: Pod
  metadata:
    labels:
      app: shop
    name: pod-%d
    namespace: shop
    uid: u-%[1]d
  spec:
    containers:
    - image: registry.example/shop:1
      name: main
    nodeName: node-%[1]d
    tolerations:
    - effect: NoExecute
      key: node.kubernetes.io/not-ready
      operator: Exists
      tolerationSeconds: 300
  status:
    conditions:
    - lastTransitionTime: "2023-07-05T00:01:00Z"
      status: "True"
      type: Ready
    phase: Running
`
)

// TestStreamMemory reads large files and watches the heap. By default they have 64 MiB of JSON and 16 MiB of YAML;
// EVICTKIT_LARGE_MIB sets another size for both, such as 2048.
func TestStreamMemory(t *testing.T) {
	const maxHeap = 48 << 20 // ten times what it needs, because the collector lags on a busy machine
	sizes := map[string]int{"JSON": 64, "YAML": 16}
	if os.Getenv("EVICTKIT_FULL") == "" {
		sizes = map[string]int{"JSON": 8, "YAML": 4}
	}
	if text := os.Getenv("EVICTKIT_LARGE_MIB"); text != "" {
		size, err := strconv.Atoi(text)
		require.NoError(t, err)
		sizes = map[string]int{"JSON": size, "YAML": size}
	}
	separated := func(i int, first, later string) string {
		if i == 0 {
			return first
		}
		return later
	}
	for _, test := range []struct {
		name, format string
		file         generator
	}{
		{"List", "JSON", generator{tail: `],"kind":"List"}`, item: func(dst []byte, i int) []byte {
			return fmt.Appendf(append(dst, separated(i, `{"apiVersion":"v1","items":[`, ",\n")...), jsonPod, i)
		}}},
		{"documents", "JSON", generator{item: func(dst []byte, i int) []byte {
			return fmt.Appendf(append(dst, separated(i, "", "\n---\n")...), jsonPod, i)
		}}},
		{"List", "YAML", generator{tail: "kind: List\n", item: func(dst []byte, i int) []byte {
			start := len(dst) + len(separated(i, "items:\n", ""))
			dst = fmt.Appendf(append(dst, separated(i, "items:\n", "")...), yamlPod, i)
			dst[start] = '-'
			return dst
		}}},
		{"documents", "YAML", generator{item: func(dst []byte, i int) []byte {
			return fmt.Appendf(append(dst, "---\n"...), yamlPod, i)
		}}},
	} {
		t.Run(test.format+" "+test.name, func(t *testing.T) {
			test.file.size = sizes[test.format] << 20
			heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
			metrics.Read(heap)
			before, peak, seen := heap[0].Value.Uint64(), uint64(0), 0
			count, err := objects.Stream(&test.file, "generated", func(o runtime.Object) error {
				if pod, ok := o.(*v1.Pod); !ok || pod.Name != "pod-"+strconv.Itoa(seen) {
					return fmt.Errorf("not the pod %d", seen)
				}
				if seen++; seen%100 == 0 {
					metrics.Read(heap)
					peak = max(peak, heap[0].Value.Uint64())
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, map[string]int{"Pod": test.file.items}, count.Read)
			t.Logf("%d MiB, %d pods: peak heap %.1f MiB, %.1f before", test.file.made>>20, test.file.items, float64(peak)/(1<<20), float64(before)/(1<<20))
			require.Less(t, peak, before+maxHeap)
		})
	}
}
