package nodepressure_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// Priorities of the pods in tables.
const (
	low  = -1
	mid  = 0
	high = 1
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// edit changes a pod that is being built.
type edit func(*Pod)

// build makes a pod with one container "main" without resources or usage.
func build(name string, priority int32, edits ...edit) Pod {
	pod := Pod{Pod: &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{Priority: &priority, Containers: []v1.Container{{Name: "main"}}},
	}}
	for _, e := range edits {
		e(&pod)
	}
	return pod
}

// list is pairs of resource names and quantities.
func list(pairs ...string) v1.ResourceList {
	l := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func requests(pairs ...string) edit {
	return func(p *Pod) { p.Spec.Containers[0].Resources.Requests = list(pairs...) }
}

func limits(pairs ...string) edit {
	return func(p *Pod) { p.Spec.Containers[0].Resources.Limits = list(pairs...) }
}

// guaranteed sets equal requests and limits.
func guaranteed(memory string) edit {
	return func(p *Pod) {
		requests("cpu", "100m", "memory", memory)(p)
		limits("cpu", "100m", "memory", memory)(p)
	}
}

// usage returns the pod's usage and that of its container, and makes both if they are missing.
func usage(p *Pod) (*Usage, *ContainerUsage) {
	if p.Usage == nil {
		p.Usage = &Usage{Containers: []ContainerUsage{{Name: "main"}}}
	}
	return p.Usage, &p.Usage.Containers[0]
}

func bytesOf(text string) int64 { q := resource.MustParse(text); return q.Value() }

func memoryUse(text string) edit {
	return func(p *Pod) {
		u, c := usage(p)
		u.Memory, c.Memory = bytesOf(text), bytesOf(text)
	}
}

func processes(n int64) edit { return func(p *Pod) { u, _ := usage(p); u.Processes = n } }

// diskUse sets the usage of writable layer, logs and one emptyDir.
func diskUse(rootfs, logs, volume string) edit {
	return func(p *Pod) {
		u, c := usage(p)
		c.Rootfs.Bytes, c.Logs.Bytes = bytesOf(rootfs), bytesOf(logs)
		emptyDir(p)
		u.Volumes = []VolumeUsage{{Name: "local", Disk: Disk{Bytes: bytesOf(volume)}}}
		u.EphemeralStorage = c.Rootfs.Bytes + c.Logs.Bytes + bytesOf(volume)
	}
}

func inodeUse(rootfs, logs, volume int64) edit {
	return func(p *Pod) {
		u, c := usage(p)
		c.Rootfs.Inodes, c.Logs.Inodes = rootfs, logs
		emptyDir(p)
		u.Volumes = []VolumeUsage{{Name: "local", Disk: Disk{Inodes: volume}}}
	}
}

func emptyDir(p *Pod) {
	p.Spec.Volumes = []v1.Volume{{Name: "local", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
}

func names(candidates []Candidate) []string {
	var result []string
	for i := range candidates {
		result = append(result, candidates[i].Pod.Name)
	}
	return result
}

func evicted(evictions []Eviction) []string {
	var result []string
	for _, e := range evictions {
		result = append(result, e.Pod.Name)
	}
	return result
}

// node is a machine on a fake clock that takes amounts by name.
type node struct {
	t       *testing.T
	clock   *clocktesting.FakePassiveClock
	machine *Machine
	pods    []Pod
}

func newNode(t *testing.T, config Config, pods ...Pod) *node {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(epoch)
	config.Clock = clock
	machine, err := New(config)
	require.NoError(t, err)
	return &node{t: t, clock: clock, machine: machine, pods: pods}
}

func (n *node) after(d time.Duration) { n.clock.SetTime(n.clock.Now().Add(d)) }

// sample returns a new sample with a capacity of 10Gi or 10,000.
func sample(signal Signal, available string) Stats {
	capacity := bytesOf("10Gi")
	if r := signal.Resource(); r == ResourceInodes || r == ResourcePIDs {
		capacity = 10_000
	}
	return Stats{Signals: map[Signal]Sample{signal: {Available: bytesOf(available), Capacity: capacity}}}
}

func (n *node) observe(signal Signal, available string) Decision {
	stats := sample(signal, available)
	stats.Pods = n.pods
	return n.machine.Observe(stats)
}

// hardly and softly return thresholds.
func hardly(signal Signal, value string) Threshold {
	return Threshold{Signal: signal, Value: Value{Quantity: resource.MustParse(value)}}
}

func softly(signal Signal, value string, grace time.Duration) Threshold {
	t := hardly(signal, value)
	t.GracePeriod = grace
	return t
}

func reclaiming(t Threshold, value string) Threshold {
	t.MinReclaim.Quantity = resource.MustParse(value)
	return t
}

func percent(signal Signal, share float32) Threshold {
	return Threshold{Signal: signal, Value: Value{Percentage: share}}
}

func thresholds(ts ...Threshold) Config {
	return Config{Thresholds: ts, PressureTransitionPeriod: 5 * time.Minute, MaxPodGracePeriodSeconds: 5}
}

// join returns the names of constants, separated by blanks.
func join(constants ...fmt.Stringer) string {
	var all []string
	for _, c := range constants {
		all = append(all, c.String())
	}
	return strings.Join(all, " ")
}
