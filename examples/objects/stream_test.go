package objects_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/examples/objects"
)

// read returns the names of the objects in a stream: Node/name and namespace/name.
func read(text string) ([]string, objects.Count, error) {
	var names []string
	count, err := objects.Stream(strings.NewReader(text), "f", func(o runtime.Object) error {
		switch o := o.(type) {
		case *v1.Node:
			names = append(names, "Node/"+o.Name)
		case *v1.Pod:
			names = append(names, o.Namespace+"/"+o.Name)
		}
		return nil
	})
	return names, count, err
}

// kubectlYAML is the output of kubectl get nodes,pods -A -o yaml, shortened, with text that is hard to cut.
const kubectlYAML = `apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    annotations:
      note: |
        - apiVersion: v1
          kind: Pod
         items:
        --- not a separator
      folded: "one two
        - three four"
    creationTimestamp: "2023-07-01T00:00:00Z"
    labels:
      topology.kubernetes.io/zone: a
    name: n1
    uid: "0123"
  spec:
    taints:
    - effect: NoSchedule
      key: k
  status:
    conditions:
    - lastHeartbeatTime: "2023-07-10T00:00:00Z"
      status: "True"
      type: Ready
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d1
# a comment at the margin

- apiVersion: v1
  kind: Pod
  metadata:
    name: p1
    namespace: shop
  spec:
    nodeName: n1
    tolerations:
    - effect: NoExecute
      key: node.kubernetes.io/not-ready
      operator: Exists
      tolerationSeconds: 300
kind: List
metadata:
  resourceVersion: ""
`

func TestStreamDecodes(t *testing.T) {
	var node *v1.Node
	var pod *v1.Pod
	_, err := objects.Stream(strings.NewReader(kubectlYAML), "f", func(o runtime.Object) error {
		switch o := o.(type) {
		case *v1.Node:
			node = o
		case *v1.Pod:
			pod = o
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, "0123", string(node.UID))
	require.Contains(t, node.Annotations["note"], "--- not a separator\n")
	require.Equal(t, "one two - three four", node.Annotations["folded"])
	require.Equal(t, map[string]string{"topology.kubernetes.io/zone": "a"}, node.Labels)
	require.Equal(t, 2023, node.CreationTimestamp.Year())
	require.Equal(t, []v1.Taint{{Key: "k", Effect: "NoSchedule"}}, node.Spec.Taints)
	require.Equal(t, v1.NodeReady, node.Status.Conditions[0].Type)
	require.Equal(t, "n1", pod.Spec.NodeName)
	require.EqualValues(t, 300, *pod.Spec.Tolerations[0].TolerationSeconds)
}

func TestStreamForms(t *testing.T) {
	both := []string{"Node/n1", "default/p1"}
	for _, test := range []struct {
		name, text string
		want       []string
		skipped    int
	}{
		{"List in YAML", kubectlYAML, []string{"Node/n1", "shop/p1"}, 1},
		{"List in YAML with carriage returns", strings.ReplaceAll(kubectlYAML, "\n", "\r\n"), []string{"Node/n1", "shop/p1"}, 1},
		{"List in YAML with a byte order mark", "\ufeff" + kubectlYAML, []string{"Node/n1", "shop/p1"}, 1},
		{"List in YAML with its kind first", "kind: List\nitems:\n- {kind: Node, metadata: {name: n1}}\n- {kind: Pod, metadata: {name: p1}}\n", both, 0},
		{"indented items", "---\nitems: # two\n\n  # first\n  - kind: Node\n    metadata:\n      name: n1\n  -\n    kind: Pod\n    metadata: {name: p1}\nkind: List", both, 0},
		{"no items in YAML", "items: []\nkind: List\n", nil, 0},
		{"null items in YAML", "items:\nkind: List\n", nil, 0},
		{"items in flow style", "kind: List\nitems: [{kind: Node, metadata: {name: n1}}, {kind: Pod,\n metadata: {name: p1}}]\n", both, 0},
		{"documents", "%YAML 1.2\n# head\n---\n# nothing\n---\nkind: Node\nmetadata: {name: n1}\n...\n--- # pod\nkind: Pod\nmetadata:\n  name: p1\n---\n", both, 0},
		{"documents in JSON in YAML", "---\n{\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"}}\n--- {\"kind\":\"Pod\",\"metadata\":{\"name\":\"p1\"}}\n", both, 0},
		{"documents of lists", "items:\n- kind: Node\n  metadata: {name: n1}\nkind: List\n---\nitems:\n- metadata: {name: p1}\n  spec: {containers: [{name: c}]}\nkind: PodList\n", both, 0},
		{"NodeList and PodList, kind first", "kind: NodeList\nitems:\n- metadata: {name: n1}\n---\nkind: PodList\nitems:\n- metadata: {name: p1}\n", both, 0},
		{"NodeList, kind last", "items:\n- metadata: {name: n1}\n  status: {nodeInfo: {}}\n- metadata: {name: n2}\n  status: {capacity: {cpu: 1}}\nkind: NodeList\n", []string{"Node/n1", "Node/n2"}, 0},
		{"list of something else, kind last", "items:\n- metadata: {name: s1}\n  spec: [1]\nkind: ServiceList\n", nil, 1},
		{"list of something else, kind first", "kind: ServiceList\nitems:\n- metadata: {name: s1}\n", nil, 1},
		{"a node that is none of ours", "apiVersion: example.org/v1\nkind: Node\nmetadata: {name: n1}\n", nil, 1},
		{"unusual scalars", "kind: Node\nmetadata:\n  name: n1\n  annotations: {1: one, true: é, \"q\\\"\": \"\\x01\"}\n  creationTimestamp: 2023-07-01T00:00:00Z\n  deletionGracePeriodSeconds: 0x10\n  labels: ~\nspec: {unschedulable: true}\nx: 1.5\n",
			[]string{"Node/n1"}, 0},

		{"List in JSON", `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}},{"kind":"Service"},{"kind":"Pod","metadata":{"name":"p1"}}],"kind":"List"}`, both, 1},
		{"NodeList in JSON", ` {"kind":"NodeList","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"n1"}}],"more":[1]}`, []string{"Node/n1"}, 0},
		{"PodList in JSON, kind last", `{"items":[{"metadata":{"name":"p1"},"spec":{"containers":[{}]}}],"kind":"PodList"}`, []string{"default/p1"}, 0},
		{"null items in JSON", `{"kind":"List","items":null}`, nil, 0},
		{"no items in JSON", `{"kind":"List","items":[]}`, nil, 0},
		{"concatenated JSON", `{"kind":"Node","metadata":{"name":"n1"}}{"kind":"Pod","metadata":{"name":"p1"},"spec":{},"status":{}} {"kind":"Secret","data":{"items":["x"]}}`, both, 1},
		{"separated JSON", "{\"kind\":\"Node\",\n\"metadata\":{\"name\":\"n1\"}}\n---\n{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p1\"}}\n---\n", both, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			names, count, err := read(test.text)
			require.NoError(t, err)
			require.Equal(t, test.want, names)
			require.Equal(t, test.skipped, total(count.Skipped))
			require.Equal(t, len(test.want), count.Read["Node"]+count.Read["Pod"])
		})
	}
}

func TestStreamFaults(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "f: holds no object"},
		{"space", " \n", "f: holds no object"},
		{"much space", strings.Repeat(" ", 1<<17), "f: starts with too much white space"},
		{"comments", "# nothing\n---\n# nothing\n", "f: holds no object"},
		{"prose", "Once upon a time\n", "f: line 1: not an object"},
		{"YAML array", "\n- kind: Node\n", "f: line 1: not an object"},
		{"no name", "kind: Node\nmetadata: {}\n", `f: line 1: object 1 (Node ""): has no name`},
		{"no name in a list", "items:\n- kind: Service\n- kind: Pod\nkind: List\n", `f: line 3: object 2 (Pod ""): has no name`},
		{"wrong type", "items:\n- kind: Service\n\n- kind: Pod\n  metadata:\n    name: p1\n    namespace: shop\n  spec:\n    nodeName: [1]\n", `f: line 4: object 2 (Pod "shop/p1"): spec: json: cannot unmarshal array`},
		{"wrong metadata", "kind: Node\nmetadata: {name: n1, creationTimestamp: yesterday}\n", `f: line 1: object 1 (Node "n1"): metadata: parsing time`},
		{"item that is no object", "items:\n- kind: Service\n- - 1\nkind: List\n", "f: line 3: not an object"},
		{"item that is no YAML", "items:\n- kind: Service\n- kind: Pod\n  metadata: {name\nkind: List\n", "f: near line 3: did not find expected ',' or '}' (is a bracket not closed, or is the file cut off?) (object 2)"},
		{"field that is indented less", "items:\n- kind: Pod\n  metadata: {name: p1}\n spec: {nodeName: n1}\nkind: List\n", "f: near line 3: did not find expected <document start> (is a line indented less than those before it?) (object 1)"},
		{"document that is no YAML", "kind: Service\n---\n\nkind: }\n", "f: near line 3: did not find expected node content"},
		{"items that are no list", "items:\n  a: b\nkind: List\n", "f: line 2: items is not a list"},
		{"items in flow style that are no list", "items: {a: b}\nkind: List\n", "f: line 1: items: json: cannot unmarshal object"},
		{"no kind", "kind: Node\nmetadata: {name: n1}\n---\nmetadata: {name: n2}\n", "f: line 3: object 2: has no kind"},
		{"no kind in JSON", `{"metadata":{"name":"n1"}}`, "f: byte 26: object 1: has no kind"},
		{"what a failing kubectl says", "Error from server (Forbidden): nodes is forbidden\n", "f: line 1: object 1: has no kind"},
		{"null item", "kind: List\nitems: [~]\n", "f: line 1: object 1: has no kind"},
		{"empty item", "items:\n- kind: Service\n-\n", "f: line 3: the list ends without its kind"},
		{"item in flow style that is bad", "kind: List\nitems: [{kind: Pod}]\n", `f: line 1: object 1 (Pod ""): has no name`},
		{"number out of range", "kind: Node\nstatus: [{a: !!float x}]\n", `f: line 2: "x" is no value of type !!float`},
		{"items twice", "items:\n- kind: Service\nkind: List\nitems:\n- kind: Service\n", "f: line 3: items is there twice"},
		{"key twice", "kind: Node\nmetadata:\n  name: n1\n  name: n2\n", `f: line 4: "name" is there twice`},
		{"alias without an anchor", "items:\n- kind: Node\n  metadata: &m {name: n1}\n- kind: Node\n  metadata:\n    labels: *l\nkind: List\n", "f: near line 4: unknown anchor 'l' referenced (a text that begins with * needs quotes) (object 2)"},
		{"alias of another document", "kind: Node\nmetadata: &m {name: n1}\n---\nkind: Node\nmetadata: *m\n", "f: near line 3: unknown anchor 'm' referenced"},
		{"alias within its anchor", "kind: Node\nmetadata: &m {name: n1, labels: *m}\n", "f: line 2: *m is within what it stands for"},
		{"aliases of aliases that are too large", "kind: Node\n" + lists(9), "stands for, it is too large: more than 16 MiB"},
		{"merge", "kind: Node\n<<: {metadata: {name: n1}}\n", "f: line 2: merge keys are not supported"},
		{"key that is no text", "kind: Node\n? [a]\n: b\n", "f: line 2: a key is not plain text"},
		{"not a number", "kind: Node\nstatus: [{a: .nan}]\n", "f: line 2: .nan is not a number"},
		{"not an integer", "kind: Node\nstatus: !!int x\n", `f: line 2: "x" is no value of type !!int`},
		{"kind that is no text", "kind: [Node]\n", "f: line 1: json: cannot unmarshal array"},
		{"YAML cut off", kubectlYAML[:strings.Index(kubectlYAML, "kind: List")], "f: line 45: the list ends without its kind: is the file cut off?"},
		{"List with items without kind", "items:\n- metadata: {name: x}\nkind: List\n", "f: line 3: object 1: has no kind, and does not look like an item of a List"},
		{"NodeList with pods", "items:\n- metadata: {name: x}\n  spec: {containers: [{}]}\nkind: NodeList\n", "object 1: has no kind, and does not look like an item of a NodeList"},
		{"ServiceList with nodes", "items:\n- metadata: {name: x}\n  status: {capacity: {}}\nkind: ServiceList\n", "object 1: has no kind, and does not look like an item of a ServiceList"},

		{"JSON cut off", `{"kind":"List","items":[{"kind":"Service"},{"kind":"Pod","meta`, "f: byte 43: object 2: unexpected EOF"},
		{"JSON cut off between items", `{"kind":"List","items":[{"kind":"Service"}`, "f: byte 42: unexpected EOF: is the file cut off?"},
		{"JSON cut off after its key", `{"kind":"List","items":`, "unexpected EOF"},
		{"JSON cut off at its start", `{`, "f: byte 1: unexpected EOF"},
		{"JSON cut off in a field", `{"kind":"Li`, "f: byte 8: kind: unexpected EOF"},
		{"JSON cut off in a key", `{"ki`, "unexpected EOF"},
		{"second value is no object", `{"kind":"Service"} [1]`, "f: byte 20: [ is not an object"},
		{"second value is no JSON", `{"kind":"Service"} kind`, "invalid character"},
		{"JSON items that are no list", `{"kind":"List","items":{"a":1}}`, "f: byte 24: items is not a list"},
		{"JSON item that is no object", `{"kind":"List","items":[1]}`, "object 1: json: cannot unmarshal number"},
		{"JSON list without kind", `{"items":[{"kind":"Service"}]}`, "f: byte 30: the list ends without its kind: is the file cut off?"},
		{"JSON wrong type", `{"kind":"List","items":[{"kind":"Pod","metadata":{"namespace":"shop","name":"p1"},"status":{"phase":1}}]}`,
			`f: byte 103: object 1 (Pod "shop/p1"): status: json: cannot unmarshal number`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := read(test.text)
			require.Error(t, err)
			require.ErrorContains(t, err, test.want)
			require.True(t, strings.HasPrefix(err.Error(), "f: "))
		})
	}
}

func TestStreamStopsAtTheVisitorsError(t *testing.T) {
	stop := errors.New("stop")
	for _, text := range []string{
		"items:\n- {kind: Node, metadata: {name: n1}}\n- {kind: Node, metadata: {name: n2}}\n- {kind: Node}\n",
		`{"items":[{"kind":"Node","metadata":{"name":"n1"}},{"kind":"Node","metadata":{"name":"n2"}},{"kind":"Node"}]}`,
	} {
		count, err := objects.Stream(strings.NewReader(text), "f", func(o runtime.Object) error {
			if n, ok := o.(*v1.Node); ok && n.Name == "n2" {
				return stop
			}
			return nil
		})
		require.ErrorIs(t, err, stop)
		require.ErrorContains(t, err, `object 2 (Node "n2"): stop`)
		require.Equal(t, map[string]int{"Node": 1}, count.Read)
	}
}

func TestStreamReaderErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, text := range []string{"", "kind: Node\n", `{"kind":"List","items":[`} {
		_, err := objects.Stream(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "f", nil)
		require.ErrorIs(t, err, broken)
	}
}

func TestStreamReadsPiecemeal(t *testing.T) {
	for text, other := range map[string]string{kubectlYAML: "Deployment", `{"items":[{"kind":"Node","metadata":{"name":"n1"}},{"kind":"Pod","metadata":{"name":"p1"}}],"kind":"List"}` + "\n---\n{\"kind\":\"Service\"}\n": "Service"} {
		count, err := objects.Stream(iotest.OneByteReader(strings.NewReader(text)), "f", func(runtime.Object) error { return nil })
		require.NoError(t, err)
		require.Equal(t, objects.Count{Read: map[string]int{"Node": 1, "Pod": 1}, Skipped: map[string]int{other: 1}}, count)
	}
}

// TestStreamObjectLimit reads objects just below and just above MaxObject, in every place.
func TestStreamObjectLimit(t *testing.T) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		t.Skip("reads 160 MiB")
	}
	for name, format := range map[string]string{
		"JSON item":     `{"kind":"List","items":[{"kind":"Service"},{"kind":"Node","metadata":{"name":"n1","annotations":{"a":"%s"}}}]}`,
		"JSON object":   `{"kind":"Node","metadata":{"name":"n1","annotations":{"a":"%s"}}}`,
		"YAML item":     "items:\n- kind: Service\n- kind: Node\n  metadata: {name: n1}\n  x: [\n%s  ]\nkind: List\n",
		"YAML document": "kind: Service\n---\nkind: Node\nmetadata: {name: n1}\nx: |\n%s",
		"YAML line":     "kind: Service\n---\nkind: Node\nmetadata: {name: n1}\nx: '%s'\n",
	} {
		t.Run(name, func(t *testing.T) {
			fill := func(size int) string {
				if name == "YAML item" || name == "YAML document" {
					line := "  " + strings.Repeat(" ", 1<<16) + "x\n"
					return fmt.Sprintf(format, strings.Repeat(line, size/len(line)))
				}
				return fmt.Sprintf(format, strings.Repeat("x", size))
			}
			if name == "YAML item" {
				format = strings.Replace(format, "x: [", "x: |", 1)
				format = strings.Replace(format, "  ]\n", "", 1)
			}
			names, _, err := read(fill(objects.MaxObject - 1<<17))
			require.NoError(t, err)
			require.Equal(t, []string{"Node/n1"}, names)
			_, _, err = read(fill(objects.MaxObject + 1<<17))
			require.ErrorContains(t, err, "an object is larger than 16 MiB")
		})
	}
}

func total(kinds map[string]int) (n int) {
	for _, of := range kinds {
		n += of
	}
	return n
}

// lists are lists of ten aliases each for the list before.
func lists(count int) string {
	text := "a0: &a0 [" + strings.Repeat("x, ", 10) + "]\n"
	for i := range count {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 10))
	}
	return text
}

// Programs that write YAML anew put anchors where objects share a part, also of an earlier item.
func TestAliasesStandForWhatTheirAnchorsHave(t *testing.T) {
	const text = `apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    labels: &id001
      pool: a
      name: &name "b: c # 1"
    name: n1
- kind: Node
  metadata: {name: n2, labels: *id001}
- kind: Pod
  metadata:
    annotations: &id002 {pool: z}
    labels: *id001
    name: p1
  spec:
    nodeName: n2
    nodeSelector: *id001
- {kind: Pod, metadata: {name: p2, labels: {of: *name}, annotations: *id002}, spec: {nodeName: n1}}
kind: List
metadata: *id001
`
	labels := map[string]map[string]string{}
	_, err := objects.Stream(strings.NewReader(text), "f", func(o runtime.Object) error {
		switch o := o.(type) {
		case *v1.Node:
			labels[o.Name] = o.Labels
		case *v1.Pod:
			labels[o.Name], labels[o.Name+" annotations"], labels[o.Name+" selector"] = o.Labels, o.Annotations, o.Spec.NodeSelector
		}
		return nil
	})
	require.NoError(t, err)
	shared := map[string]string{"pool": "a", "name": "b: c # 1"}
	require.Equal(t, map[string]map[string]string{
		"n1": shared, "n2": shared, "p1": shared, "p1 annotations": {"pool": "z"}, "p1 selector": shared,
		"p2": {"of": "b: c # 1"}, "p2 annotations": {"pool": "z"}, "p2 selector": nil,
	}, labels)
}

// TestAnchorsWithinAnchors: what they stand for is kept once for each, so that a text that nests them would take many times its
// size.
func TestAnchorsWithinAnchors(t *testing.T) {
	const depth = 40
	var text strings.Builder
	text.WriteString("kind: Node\nmetadata: {name: n1}\nextra: ")
	for i := range depth {
		fmt.Fprintf(&text, "&a%d [", i)
	}
	text.WriteString(strings.Repeat("x", objects.MaxObject/depth+1) + strings.Repeat("]", depth) + "\n")
	_, _, err := read(text.String())
	require.ErrorContains(t, err, "too much text has anchors")
}
