package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
)

// recorded writes a record of 49 machines in three zones over two days. Each evening, a zone fails for ten minutes, and a node for an hour.
func recorded(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	write := func(name string, value any) {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
	var nodes v1.NodeList
	var pods v1.PodList
	for i := range 49 {
		n := v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%02d", i), Labels: map[string]string{v1.LabelTopologyZone: fmt.Sprint("z", i%3)}}}
		n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("9")}
		nodes.Items = append(nodes.Items, n)
		for k := range 3 {
			p := v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: fmt.Sprintf("p-%d-%d", i, k)}}
			p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}}}}
			pods.Items = append(pods.Items, p)
		}
	}
	write("openb/openb-nodes.json", nodes)
	write("openb/openb-pods.json", pods)
	csv := "node,start_minute,end_minute,cause\n"
	for day := range 2 {
		evening := day*24*60 + 20*60
		for i := 0; i < 49; i += 3 {
			csv += fmt.Sprintf("%d,%d,%d,x\n", i, evening, evening+10)
		}
		csv += fmt.Sprintf("1,%d,%d,x\n", evening-120, evening-60)
	}
	csv += fmt.Sprintf("2,%d,%d,x\n", 48*60-2, 48*60-1)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "lanl"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "lanl", "system-02-49-nodes.csv"), []byte(csv), 0o600))
	return folder
}

// What was chosen on the first day is judged on the second. In a false alarm, trials evict less than the best fixed setting.
func TestLearn(t *testing.T) {
	table, told, err := simulate(t, "bench", "--learn", "--data", recorded(t), "--record", "lanl-02")
	require.NoError(t, err)
	require.Contains(t, told, "lanl-02, first half: tolerations of 10m: ")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	require.Equal(t, "lanl-02, second half: 49 nodes, 137 pods, 24h", lines[0])
	require.Len(t, lines, 2+5)
	var rows [][]int // evicted, needless, pod-hours lost; in each false alarm; all needless
	for _, line := range lines[2:] {
		cells := strings.Fields(strings.ReplaceAll(line, ",", ""))
		var row []int
		for _, cell := range cells[len(cells)-7:] {
			figure, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err, line)
			row = append(row, int(figure))
		}
		require.Equal(t, row[6], row[1]+row[3]+row[4]+row[5], line)
		rows = append(rows, row)
	}
	require.Regexp(t, "^  defaults +evictkit ", lines[2])
	require.Contains(t, lines[3], "  best fixed: tolerations of ")
	require.Contains(t, lines[4], "  best trial ")
	require.Contains(t, lines[6], "  no brake ")
	require.Positive(t, rows[0][1])
	require.Zero(t, rows[0][3], "nobody is evicted while all zones are down")
	require.Positive(t, rows[4][3])
	require.Positive(t, rows[0][4])
	require.Less(t, rows[2][6], rows[0][6])
}

// The fewest needless evictions count, of those policies that lose little more than the defaults.
func TestWhichPolicyIsBest(t *testing.T) {
	policy := func(needless int, hours float64) playedPolicy {
		return playedPolicy{outcomes: []*outcome.Outcome{
			{Report: &simulation.Report{EvictedBeforeReturn: needless - 1, PodHoursLost: hours}},
			{Report: &simulation.Report{EvictedFromLiveNodes: 1, PodHoursLost: 50}}, // in a false alarm
		}}
	}
	l, defaults := &learner{}, policy(10, 100)
	few, dear, cheap := policy(4, 103), policy(1, 110), policy(6, 90)
	require.Equal(t, few, l.best([]playedPolicy{defaults, cheap, few, dear}, defaults))
	require.Equal(t, dear, l.best([]playedPolicy{dear, policy(0, 120)}, defaults), "all lose too much")
	require.Equal(t, cheap, l.best([]playedPolicy{policy(6, 95), cheap}, defaults))
}
