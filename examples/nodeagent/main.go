// Command nodeagent answers: my machine runs short of memory; what does its agent report, which pod goes first, and
// when is the shortage over?
//
// The agent measures an imaginary machine in virtual time. On a real one its kubelet measures (evictor/nodepressure/summary),
// and Run, which waits by itself, replaces Step.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

const (
	mi       = 1 << 20
	capacity = 4096 * mi
)

// machine runs pods. Each requests memory, and may use more every second.
type machine struct {
	clock *testingclock.FakeClock
	out   io.Writer
	began time.Time
	pods  []process
}

type process struct {
	pod           *v1.Pod
	uses, growing int64 // bytes, and bytes a second
}

func (m *machine) run(name, request string, uses, growing int64) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	requests := v1.ResourceList{v1.ResourceMemory: resource.MustParse(request)}
	pod.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: requests}}}
	m.pods = append(m.pods, process{pod: pod, uses: uses, growing: growing})
}

// Stats implements nodepressure.StatsProvider.
func (m *machine) Stats(context.Context) (nodepressure.Stats, error) {
	var stats nodepressure.Stats
	left, seconds := int64(capacity), int64(m.clock.Since(m.began).Seconds())
	for _, p := range m.pods {
		uses := p.uses + p.growing*seconds
		left -= uses
		usage := &nodepressure.Usage{Memory: uses, Containers: []nodepressure.ContainerUsage{{Name: "main", Memory: uses}}}
		stats.Pods = append(stats.Pods, nodepressure.Pod{Pod: p.pod, Usage: usage})
	}
	stats.Signals = map[nodepressure.Signal]nodepressure.Sample{
		nodepressure.MemoryAvailable: {Available: left, Capacity: capacity, Time: m.clock.Now()},
	}
	return stats, nil
}

// Kill ends a pod at once, and CleanedUp says that nothing of it is left. They implement nodepressure.Killer.
func (m *machine) Kill(_ context.Context, eviction nodepressure.Eviction) error {
	fmt.Fprintf(m.out, "%s kill %s: %s\n", m.clock.Now().Format(time.TimeOnly), eviction.Pod.Name, eviction.Cause)
	for i, p := range m.pods {
		if p.pod == eviction.Pod {
			m.pods = append(m.pods[:i:i], m.pods[i+1:]...)
			break
		}
	}
	return nil
}

func (m *machine) CleanedUp(*v1.Pod) bool { return true }

func main() {
	if err := play(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "nodeagent:", err)
		os.Exit(1)
	}
}

func play(out io.Writer) error {
	clock := testingclock.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	m := &machine{clock: clock, out: out, began: clock.Now()}
	m.run("database", "2Gi", 1900*mi, 0)
	m.run("search", "512Mi", 800*mi, 2*mi)
	m.run("batch", "1Gi", 200*mi, 3*mi)

	config, err := nodepressure.Settings{
		EvictionHard:           map[string]string{"memory.available": "300Mi"},
		EnforceNodeAllocatable: []string{}, // the machine does not measure its pods together
	}.Config()
	if err != nil {
		return err
	}
	managing, said := nodepressure.DefaultManagerConfig(), ""
	config.Clock, managing.Clock = clock, clock
	// It also learns of a threshold that nothing measures.
	managing.OnError = func(err error) { fmt.Fprintf(out, "%s error: %v\n", clock.Now().Format(time.TimeOnly), err) }
	managing.OnDecision = func(d nodepressure.Decision) {
		if now := fmt.Sprint(d.Conditions); now != said { // what a kubelet writes into the node's status
			said = now
			fmt.Fprintf(out, "%s conditions %s\n", clock.Now().Format(time.TimeOnly), now)
		}
	}
	decider, err := nodepressure.New(config)
	if err != nil {
		return err
	}
	manager, err := nodepressure.NewManager(decider, nodepressure.Clients{StatsProvider: m, Killer: m}, managing)
	if err != nil {
		return err
	}
	for end := clock.Now().Add(15 * time.Minute); clock.Now().Before(end); {
		next, err := manager.Step(context.Background())
		if err != nil {
			return err
		}
		clock.SetTime(next)
	}
	return nil
}
