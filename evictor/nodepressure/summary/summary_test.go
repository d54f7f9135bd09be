package summary_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/summary"
)

// full is a summary with every part that counts, and some that do not.
const full = `{
  "node": {
    "nodeName": "worker-1", "startTime": "2026-01-01T00:00:00Z", "cpu": {"usageNanoCores": 1},
    "systemContainers": [
      {"name": "kubelet", "memory": {"availableBytes": 1, "workingSetBytes": 1}},
      {"name": "pods", "memory": {"time": "2026-01-02T00:00:01Z", "availableBytes": 2000, "workingSetBytes": 500}}
    ],
    "memory": {"time": "2026-01-02T00:00:00Z", "availableBytes": 3000, "usageBytes": 1500, "workingSetBytes": 1000},
    "fs": {"time": "2026-01-02T00:00:02Z", "availableBytes": 70, "capacityBytes": 100, "usedBytes": 20, "inodesFree": 7, "inodes": 10, "inodesUsed": 3},
    "runtime": {
      "imageFs": {"time": "2026-01-02T00:00:03Z", "availableBytes": 71, "capacityBytes": 101, "inodesFree": 8, "inodes": 11},
      "containerFs": {"time": "2026-01-02T00:00:04Z", "availableBytes": 72, "capacityBytes": 102, "inodesFree": 9, "inodes": 12}
    },
    "rlimit": {"time": "2026-01-02T00:00:05Z", "maxpid": 32768, "curproc": 68}
  },
  "pods": [
    {"podRef": {"name": "gone", "namespace": "shop", "uid": "uid-0"}, "memory": {"workingSetBytes": 9}},
    {"podRef": {"name": "cart", "namespace": "shop", "uid": "uid-1"},
      "containers": [{"name": "main", "memory": {"workingSetBytes": 40}, "rootfs": {"usedBytes": 5, "inodesUsed": 6}, "logs": {"usedBytes": 7, "inodesUsed": 8}}, {"name": "proxy"}],
      "memory": {"workingSetBytes": 50}, "ephemeral-storage": {"usedBytes": 60}, "process_stats": {"process_count": 4},
      "volume": [{"name": "data", "usedBytes": 11, "inodesUsed": 12, "availableBytes": 1}]},
    {"podRef": {"name": "proxy", "namespace": "kube-system", "uid": "uid-of-the-static-pod"}, "memory": {"workingSetBytes": 30}}
  ]
}`

func pod(name, uid string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid)}}
}

func at(second int) time.Time { return time.Date(2026, 1, 2, 0, 0, second, 0, time.UTC) }

func TestEverythingThatCounts(t *testing.T) {
	cart, search := pod("cart", "uid-1"), pod("search", "uid-2")
	joined, err := summary.Join([]byte(full), []*v1.Pod{search, cart})
	require.NoError(t, err)
	for signal, sample := range joined.Signals {
		sample.Time = sample.Time.UTC()
		joined.Signals[signal] = sample
	}
	require.Equal(t, summary.Joined{
		Node: "worker-1",
		Stats: nodepressure.Stats{
			Signals: map[nodepressure.Signal]nodepressure.Sample{
				nodepressure.MemoryAvailable:            {Available: 3000, Capacity: 4000, Time: at(0)},
				nodepressure.AllocatableMemoryAvailable: {Available: 2000, Capacity: 2500, Time: at(1)},
				nodepressure.NodeFsAvailable:            {Available: 70, Capacity: 100, Time: at(2)},
				nodepressure.NodeFsInodesFree:           {Available: 7, Capacity: 10, Time: at(2)},
				nodepressure.ImageFsAvailable:           {Available: 71, Capacity: 101, Time: at(3)},
				nodepressure.ImageFsInodesFree:          {Available: 8, Capacity: 11, Time: at(3)},
				nodepressure.ContainerFsAvailable:       {Available: 72, Capacity: 102, Time: at(4)},
				nodepressure.ContainerFsInodesFree:      {Available: 9, Capacity: 12, Time: at(4)},
				nodepressure.PIDAvailable:               {Available: 32700, Capacity: 32768, Time: at(5)},
			},
			Pods: []nodepressure.Pod{{Pod: cart, Usage: &nodepressure.Usage{
				Memory: 50, Processes: 4, EphemeralStorage: 60,
				Volumes: []nodepressure.VolumeUsage{{Name: "data", Disk: nodepressure.Disk{Bytes: 11, Inodes: 12}}},
				Containers: []nodepressure.ContainerUsage{
					{Name: "main", Memory: 40, Rootfs: nodepressure.Disk{Bytes: 5, Inodes: 6}, Logs: nodepressure.Disk{Bytes: 7, Inodes: 8}}, {Name: "proxy"},
				},
			}}},
		},
		Unknown:    []summary.Ref{{Namespace: "shop", Name: "gone", UID: "uid-0"}, {Namespace: "kube-system", Name: "proxy", UID: "uid-of-the-static-pod"}},
		Unmeasured: []*v1.Pod{search},
	}, joined)
}

// TestWindows: there the memory that counts is what is promised to everybody.
func TestWindows(t *testing.T) {
	commit := `{"node":{"memory":{"availableBytes":1,"workingSetBytes":1},"systemContainers":[{"name":"windows-global-commit-memory"%s}]}}`
	for _, tc := range []struct {
		memory string
		want   map[nodepressure.Signal]nodepressure.Sample
	}{
		{`,"memory":{"time":null,"availableBytes":30,"usageBytes":70,"workingSetBytes":20}`, map[nodepressure.Signal]nodepressure.Sample{nodepressure.MemoryAvailable: {Available: 30, Capacity: 100}}},
		{`,"memory":{"availableBytes":30,"workingSetBytes":20}`, map[nodepressure.Signal]nodepressure.Sample{}},
		{``, map[nodepressure.Signal]nodepressure.Sample{}},
	} {
		joined, err := summary.Join([]byte(fmt.Sprintf(commit, tc.memory)), nil)
		require.NoError(t, err)
		require.Equal(t, tc.want, joined.Signals)
	}
}

// TestWhatIsNotSaidIsNotMeasured, and is no shortage.
func TestWhatIsNotSaidIsNotMeasured(t *testing.T) {
	for _, body := range []string{
		`{"node":{}}`, `{"node":{"memory":null,"fs":null,"runtime":null,"rlimit":null,"systemContainers":null},"pods":null}`,
		`{"node":{"memory":{"availableBytes":1},"fs":{"availableBytes":1,"inodesFree":1},"runtime":{"imageFs":{"capacityBytes":1,"inodes":1}},"rlimit":{"maxpid":1},"systemContainers":[{"name":"pods"}]}}`,
		`{"node":{"fs":{"inodesFree":0,"inodes":0},"runtime":{"imageFs":{"inodesFree":1,"inodes":0}}}}`,
		`{"node":{"memory":{"workingSetBytes":1},"rlimit":{"curproc":1},"systemContainers":[{"name":"pods","memory":{"availableBytes":1}}]}}`,
	} {
		joined, err := summary.Join([]byte(body), []*v1.Pod{pod("cart", "uid-1")})
		require.NoError(t, err)
		require.Empty(t, joined.Signals, body)
		require.Empty(t, joined.Pods)
		require.Equal(t, []*v1.Pod{pod("cart", "uid-1")}, joined.Unmeasured)
	}
}

// TestAmountsBelowZero: a limit that is exceeded makes a difference that went round.
func TestAmountsBelowZero(t *testing.T) {
	joined, err := summary.Join([]byte(`{"node":{"memory":{"availableBytes":18446744073709551516,"workingSetBytes":1100},"rlimit":{"maxpid":10,"curproc":12}}}`), nil)
	require.NoError(t, err)
	require.Equal(t, nodepressure.Sample{Available: -100, Capacity: 1000}, joined.Signals[nodepressure.MemoryAvailable])
	require.Equal(t, nodepressure.Sample{Available: -2, Capacity: 10}, joined.Signals[nodepressure.PIDAvailable])
}

func TestWhatIsNoSummary(t *testing.T) {
	for body, want := range map[string]string{
		``:              "summary: unexpected end of JSON input",
		`<html>`:        "summary: invalid character '<'",
		`[]`:            "summary: json: cannot unmarshal array",
		`{"pods":[]}`:   "summary: no node in the summary",
		`{"node":null}`: "summary: no node in the summary",
		`{"kind":"Status","status":"Failure","code":403}`:               "summary: no node in the summary",
		`{"node":{"memory":{"availableBytes":"much"}}}`:                 "node.memory.availableBytes",
		`{"node":{"rlimit":{"time":"yesterday","maxpid":1}}}`:           "yesterday",
		`{"node":{"memory":{"availableBytes":-1,"workingSetBytes":1}}}`: "cannot unmarshal number -1",
	} {
		_, err := summary.Join([]byte(body), nil)
		require.ErrorContains(t, err, want, body)
	}
}

// FuzzStats: whatever is answered, a machine can take it.
func FuzzStats(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"node":{"memory":{"availableBytes":18446744073709551615,"workingSetBytes":18446744073709551615}},"pods":[{"podRef":{"uid":"uid-1"},"volume":[{}]},{}]}`))
	machine, err := nodepressure.New(nodepressure.DefaultConfig())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		pods := []*v1.Pod{pod("cart", "uid-1")}
		joined, err := summary.Join(body, pods)
		if err != nil {
			require.Empty(t, joined)
			return
		}
		require.Len(t, pods, len(joined.Pods)+len(joined.Unmeasured))
		machine.Observe(joined.Stats)
	})
}
