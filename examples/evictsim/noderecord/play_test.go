package noderecord

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// play plays a whole record and returns its events as text.
func play(t *testing.T, text string) []string {
	t.Helper()
	r, err := NewReader("record", strings.NewReader(text))
	require.NoError(t, err)
	p, err := NewPlayer(r.Node())
	require.NoError(t, err)
	var story []string
	for {
		sample, err := r.Sample()
		if errors.Is(err, io.EOF) {
			return story
		}
		require.NoError(t, err)
		for _, e := range p.Play(sample, r.Pods()) {
			story = append(story, strings.TrimSpace(e.String()))
		}
	}
}

const (
	cart   = `{"pod":{"metadata":{"namespace":"shop","name":"cart"},"spec":{"containers":[{"name":"main"}]}}}` + "\n"
	search = `{"pod":{"metadata":{"namespace":"shop","name":"search"},"spec":{"containers":[{"name":"main","resources":{"requests":{"memory":"1Gi"}}}]}}}` + "\n"
	static = `{"pod":{"metadata":{"namespace":"shop","name":"cart","annotations":{"kubernetes.io/config.source":"file"}},"spec":{"containers":[{"name":"main"}]}}}` + "\n"
)

func memory(t float64, available int64, pods string) string {
	return fmt.Sprintf(`{"sample":{"t":%v,"signals":{"memory.available":{"available":%d,"capacity":1000}},"pods":{%s}}}`+"\n", t, available, pods)
}

// TestPlay: conditions, a grace period, an eviction. What the evicted pod used is available from then on.
func TestPlay(t *testing.T) {
	node := `{"node":{"settings":{"evictionHard":{},"evictionSoft":{"memory.available":"100"},"evictionSoftGracePeriod":{"memory.available":"15s"},"evictionPressureTransitionPeriod":"30s"}}}` + "\n"
	pods := `"shop/cart":{"memory":300},"shop/search":{"memory":200}`
	require.Equal(t, []string{
		"10s  MemoryPressure begins: memory.available < 100 for 15s, 90 available",
		"30s  evict shop/cart with 0s to end: memory.available < 100 for 15s since 10s\n              The node was low on resource: memory. Threshold quantity: 100, available: 80.",
		"1m0s  MemoryPressure ends",
	}, play(t, node+cart+search+memory(0, 500, pods)+memory(10, 90, pods)+memory(20, 90, pods)+memory(30, 80, pods)+"\n"+memory(40, 80, pods)+memory(60, 80, pods)))
}

// TestWhatIsNotNew: no pod goes because of something that was measured before.
func TestWhatIsNotNew(t *testing.T) {
	measured := func(t, at int) string {
		return fmt.Sprintf(`{"sample":{"t":%d,"signals":{"memory.available":{"available":1,"capacity":1000,"at":%d}},"pods":{"shop/cart":{},"shop/search":{}}}}`+"\n", t, at)
	}
	story := play(t, `{"node":{"settings":{"evictionHard":{"memory.available":"100"}}}}`+"\n"+cart+search+measured(10, 2)+measured(20, 2)+measured(30, 3))
	require.Len(t, story, 3)
	require.Contains(t, story[1], "10s  evict shop/cart")
	require.Contains(t, story[2], "30s  evict shop/search")
}

// A pod without a namespace is in default.
func TestPodWithoutANamespace(t *testing.T) {
	pod := `{"pod":{"metadata":{"name":"cart"}}}` + "\n"
	story := play(t, `{"node":{"settings":{"evictionHard":{"memory.available":"100"}}}}`+"\n"+pod+memory(0, 90, `"default/cart":{"memory":300}`))
	require.Contains(t, strings.Join(story, "\n"), "evict default/cart ")
}

// An evicted pod comes back when a new pod of that name appears.
func TestPlayedPodsComeBack(t *testing.T) {
	node := `{"node":{"settings":{"evictionHard":{"memory.available":"100"}}}}` + "\n"
	pods := `"shop/cart":{"memory":300}`
	story := play(t, node+cart+memory(0, 50, pods)+memory(1, 50, pods)+cart+memory(2, 50, pods)+static+memory(3, 50, pods)+memory(4, 50, pods))
	require.Len(t, story, 4)
	require.Contains(t, story[1], "0s  evict shop/cart with 1s to end: memory.available < 100 since 0s")
	require.Contains(t, story[2], "2s  evict shop/cart", "at 1s it was gone")
	require.Contains(t, story[3], "3s  no pod may be evicted: memory.available < 100 since 2s", "said once")
}

// A node that nothing helps says so once, and again only after it has recovered or is short of something else.
func TestTheSameIsToldOnce(t *testing.T) {
	short := func(t int, signal string, available int) string {
		return fmt.Sprintf(`{"sample":{"t":%d,"signals":{"%s":{"available":%d,"capacity":1000}},"pods":{"shop/cart":{}}}}`+"\n", t, signal, available)
	}
	story := play(t, `{"node":{}}`+"\n"+static+short(0, "nodefs.available", 1)+short(1, "nodefs.available", 1)+short(2, "imagefs.available", 1)+
		short(3, "imagefs.available", 1)+short(4, "imagefs.available", 999)+short(5, "imagefs.available", 1))
	require.Equal(t, []string{
		"0s  DiskPressure begins: nodefs.available < 10%, 1 available",
		"0s  reclaim DeadContainers and UnusedImages: nodefs.available < 10% since 0s", "0s  no pod may be evicted: nodefs.available < 10% since 0s",
		"2s  reclaim DeadContainers and UnusedImages: imagefs.available < 15% since 2s", "2s  no pod may be evicted: imagefs.available < 15% since 2s",
		"5s  reclaim DeadContainers and UnusedImages: imagefs.available < 15% since 5s", "5s  no pod may be evicted: imagefs.available < 15% since 5s",
	}, story)
}

// TestHugeAmounts: an evicted pod never leaves less available, and everything may be unavailable.
func TestHugeAmounts(t *testing.T) {
	pods := `"shop/cart":{"memory":9223372036854775807}`
	story := play(t, `{"node":{}}`+"\n"+cart+memory(0, 0, pods)+memory(1, 9223372036854775807, pods)+memory(2, -9223372036854775808, pods)+memory(3, 9223372036854775807, pods))
	require.Len(t, story, 3)
	require.Equal(t, "0s  MemoryPressure begins: memory.available < 100Mi, 0 available", story[0])
	require.Contains(t, story[1], "0s  evict shop/cart")
	require.Equal(t, "2s  no pod may be evicted: memory.available < 100Mi since 2s", story[2])
}

func TestPlayedDisk(t *testing.T) {
	disk := func(t float64) string {
		return fmt.Sprintf(`{"sample":{"t":%v,"signals":{"imagefs.available":{"available":1,"capacity":1000}},"pods":{"shop/cart":{"containers":[{"name":"main","rootfs":{"bytes":600}}]},"shop/search":null}}}`+"\n", t)
	}
	story := play(t, `{"node":{"layout":"DedicatedImageFs","ranking":"ByQOS"}}`+"\n"+cart+search+disk(0)+disk(10)+disk(20))
	require.Equal(t, "0s  DiskPressure begins: imagefs.available < 15%, 1 available", story[0])
	require.Equal(t, "0s  reclaim DeadContainers and UnusedImages: imagefs.available < 15% since 0s", story[1])
	require.Contains(t, story[2], "0s  evict shop/cart", "the best effort one, though nothing is known of the other")
	require.Len(t, story, 3)

	limited := strings.Replace(cart, `{"name":"main"}`, `{"name":"main","resources":{"limits":{"ephemeral-storage":"100"}}}`, 1)
	story = play(t, `{"node":{}}`+"\n"+limited+`{"sample":{"t":0,"signals":{},"pods":{"shop/cart":{"ephemeralStorage":101}}}}`)
	require.Equal(t, []string{"0s  evict shop/cart with 1s to end: its limit of local storage\n              Pod ephemeral local storage usage exceeds the total limit of containers 100."}, story)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	var file bytes.Buffer
	node := Node{Settings: nodepressure.Settings{EvictionHard: map[string]string{"pid.available": "10%"}}, Layout: nodepressure.SplitImageFs, Ranking: "ByQOS"}
	w, err := NewWriter(&file, node)
	require.NoError(t, err)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	require.NoError(t, w.Pod(pod))
	at := -1.25
	sample := &Sample{T: 1.5, Signals: map[nodepressure.Signal]Amount{nodepressure.PIDAvailable: {Available: 1, Capacity: 2, At: &at}}, Pods: map[string]*nodepressure.Usage{
		"a/b": {Memory: 1, Processes: 2, EphemeralStorage: 3, Volumes: []nodepressure.VolumeUsage{{Name: "v", Disk: nodepressure.Disk{Bytes: 1, Inodes: 2}}}, Containers: []nodepressure.ContainerUsage{{Name: "c", Memory: 4}}},
	}}
	require.NoError(t, w.Sample(sample))
	require.NoError(t, w.Sample(sample))
	r, err := NewReader("record", &file)
	require.NoError(t, err)
	require.Equal(t, node, r.Node())
	for range 2 {
		got, err := r.Sample()
		require.NoError(t, err)
		require.Equal(t, sample, got)
		require.Equal(t, pod.ObjectMeta, r.Pods()["a/b"].ObjectMeta)
	}
	_, err = r.Sample()
	require.ErrorIs(t, err, io.EOF)
}

// Empty settings, which replace the defaults, are written as empty.
func TestNothingIsNotTheDefault(t *testing.T) {
	node := Node{Settings: nodepressure.Settings{EvictionHard: map[string]string{}, EnforceNodeAllocatable: []string{}}}
	var file bytes.Buffer
	_, err := NewWriter(&file, node)
	require.NoError(t, err)
	r, err := NewReader("record", &file)
	require.NoError(t, err)
	require.Equal(t, node, r.Node())
}

func TestEveryFaultOfANode(t *testing.T) {
	_, err := Node{Settings: nodepressure.Settings{EvictionHard: map[string]string{"a": "1"}}, Ranking: "ByName"}.Config()
	require.ErrorContains(t, err, "evictionHard[a]")
	require.ErrorContains(t, err, `unknown ranking "ByName"`)
}

func TestFaultsNameTheLine(t *testing.T) {
	node := `{"node":{}}` + "\n"
	for _, tc := range []struct{ name, text, want string }{
		{"Empty", "", "record: the record is empty"},
		{"NoNode", cart, "record: line 1: the first line must be the node"},
		{"NodeTwice", node + node, "record: line 2: only the first line can be a node"},
		{"Settings", `{"node":{"settings":{"evictionHard":{"mem.available":"1"}}}}`, "record: line 1: evictionHard[mem.available]"},
		{"Ranking", `{"node":{"ranking":"ByName"}}`, `record: line 1: unknown ranking "ByName"`},
		{"Layout", `{"node":{"layout":"TwoFs"}}`, `record: line 1: nodepressure: unknown layout "TwoFs"`},
		{"UnknownField", node + `{"sample":{"t":0,"usage":{}}}`, `record: line 2: json: unknown field "usage"`},
		{"NothingInIt", node + `{}`, "record: line 2: a line must be a node, a pod or a sample"},
		{"TwoInOne", node + `{"node":{},"sample":{"t":0}}`, "record: line 2: a line must be a node, a pod or a sample"},
		{"TwoObjects", node + `{"sample":{"t":0}} {"sample":{"t":0}}`, "record: line 2: a line must hold a single object"},
		{"CutOff", node + `{"sample":{"t":0}`, "record: line 2: unexpected EOF"},
		{"TimeGoesBack", node + memory(2, 1, "") + memory(1, 1, ""), "record: line 3: t: 1 is before 2"},
		{"NegativeTime", node + memory(-1, 1, ""), "record: line 2: t: -1 is not a time"},
		{"UnknownSignal", node + `{"sample":{"t":0,"signals":{"mem.available":{}}}}`, `record: line 2: signals: there is no signal "mem.available"`},
		{"NegativeCapacity", node + `{"sample":{"t":0,"signals":{"pid.available":{"capacity":-1}}}}`, "record: line 2: signals: pid.available: capacity -1 is negative"},
		{"NoInstant", node + `{"sample":{"t":0,"signals":{"pid.available":{"at":1e10}}}}`, "record: line 2: signals: pid.available: at: 1e+10 is not a time"},
		{"UnknownPod", node + memory(0, 1, `"shop/cart":null`), `record: line 2: pods: no line before this one describes pod "shop/cart"`},
		{"NamelessPod", node + `{"pod":{}}`, "record: line 2: a pod must have a name"},
		{"BrokenPod", node + `{"pod":{"metadata":[]}}`, "record: line 2: json: cannot unmarshal"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := NewReader("record", strings.NewReader(tc.text))
			for err == nil {
				_, err = r.Sample()
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// FuzzRecord: reading and playing never panic, whatever the file holds.
func FuzzRecord(f *testing.F) {
	f.Add(`{"node":{}}` + "\n" + cart + memory(0, 50, `"shop/cart":{"memory":300}`))
	f.Add(`{"node":{"layout":"SplitImageFs"}}` + "\n" + static + `{"sample":{"t":1e9,"signals":{"nodefs.available":{"available":-9223372036854775808}},"pods":{"shop/cart":null}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := NewReader("record", strings.NewReader(text))
		if err != nil {
			return
		}
		p, err := NewPlayer(r.Node())
		require.NoError(t, err)
		for {
			sample, err := r.Sample()
			if err != nil {
				return
			}
			for _, e := range p.Play(sample, r.Pods()) {
				require.NotEmpty(t, e.String())
			}
		}
	})
}
