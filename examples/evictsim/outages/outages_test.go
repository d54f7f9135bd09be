package outages

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func machine(name, cpu, gpus string) v1.Node {
	n := v1.Node{}
	n.Name = name
	n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse(cpu), "nvidia.com/gpu": resource.MustParse(gpus), "pods": resource.MustParse("3")}
	return n
}

func task(name, cpu, gpus string) v1.Pod {
	p := v1.Pod{}
	p.Name = name
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"cpu": resource.MustParse(cpu), "nvidia.com/gpu": resource.MustParse(gpus)},
	}}}
	return p
}

// Each goes to the node with the most CPU left that has what it asks for, and three tenths of all CPU stay free.
func TestPlace(t *testing.T) {
	nodes := []v1.Node{machine("gpus", "10", "1"), machine("large", "20", "0"), machine("small", "10", "0")}
	pods := place(nodes, []v1.Pod{
		task("a", "4", "0"), task("b", "5", "1"), task("c", "1", "1"), task("d", "1", "0"), task("e", "13", "0"), task("f", "15", "0"), task("g", "3", "0"),
		task("h", "0", "0"), task("i", "2500m", "0"), task("j", "1", "0"),
	})
	placed := map[string]string{}
	for _, p := range pods {
		placed[p.Name] = p.Spec.NodeName
	}
	require.Equal(t, map[string]string{"a": "large", "b": "gpus", "d": "large", "e": "large", "g": "small", "h": "small", "j": "small"}, placed,
		"c finds no GPU, f no room; with i 28.5 of 40 would be asked for")
}

func TestTenOfAShapeAreAWorkload(t *testing.T) {
	var pods []v1.Pod
	for range 11 {
		pods = append(pods, task("small", "1", "0"), task("large", "2", "0"))
	}
	finish(pods, 30)
	owned := map[string]int{}
	for _, p := range pods {
		owned[p.Name+" "+p.OwnerReferences[0].Name]++
		require.Len(t, p.Spec.Tolerations, 2)
		require.EqualValues(t, 30, *p.Spec.Tolerations[1].TolerationSeconds)
	}
	require.Equal(t, map[string]int{"small workload-0001": 10, "large workload-0002": 10, "small workload-0003": 1, "large workload-0004": 1}, owned)
}

func TestWorst(t *testing.T) {
	lost := []float64{0, 3, 0, 2, 2, 0, 0, 4}
	of := func(j int) float64 { return lost[j] }
	require.Equal(t, 1, worst(8, 4, of))
	require.Equal(t, 7, worst(8, 1, of))
	require.Equal(t, 0, worst(8, 8, of))
}

func TestOutagesOfANodeThatMeetAreOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outages.csv")
	text := "node,start_minute,end_minute,cause\n1,10,20,x\n0,5,6,x\n1,15,18,x\n1,20,30,x\n1,40,40,x\n1,50,60,x\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	all, err := readOutages(path)
	require.NoError(t, err)
	require.Equal(t, []outage{{0, 5, 6}, {1, 10, 30}, {1, 50, 60}}, all)

	nodes := []v1.Node{machine("a", "1", "0"), machine("b", "1", "0")}
	minute := time.Minute
	require.Equal(t, []event{{0, false, []string{"b"}}, {10 * minute, true, []string{"b"}}, {30 * minute, false, []string{"b"}}}, events(all, 20, 55, nodes),
		"one that has failed before fails at the start, one that comes back later does not")
	for _, text := range []string{"", "node,start_minute,end_minute,cause\n1,2\n", "node,start_minute,end_minute,cause\n1,-2,3,x\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := readOutages(path)
		require.ErrorContains(t, err, path)
	}
}

func TestRecordsThatAreNotThere(t *testing.T) {
	for _, r := range Records() {
		_, err := r.Make(t.TempDir(), t.TempDir(), 300)
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, r.Name)
	}
}

// The stretch of every trace is the same, and ends where the first trace does.
func TestStretch(t *testing.T) {
	p := &played{traces: []trace{{"a", time.Minute, []int{4, 4, 0, 4, 4, 2}}, {"b", time.Minute, []int{1, 1, 1, 0}}}}
	p.stretch(2 * time.Minute)
	require.Equal(t, &played{traces: []trace{{"a", time.Minute, []int{0, 4}}, {"b", time.Minute, []int{1, 0}}}, until: 2 * time.Minute}, p)
}
