package nodepressure_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

const mi = 1 << 20

func requesting(name, memory string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main"}}}}
	if memory != "" {
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}
	}
	return pod
}

func using(memory int64) *nodepressure.Usage {
	return &nodepressure.Usage{Memory: memory, Containers: []nodepressure.ContainerUsage{{Name: "main", Memory: memory}}}
}

func Example() {
	config, err := nodepressure.Settings{
		EvictionSoft:            map[string]string{"memory.available": "500Mi"},
		EvictionSoftGracePeriod: map[string]string{"memory.available": "30s"},
	}.Config()
	if err != nil {
		fmt.Println(err)
		return
	}
	clock := clocktesting.NewFakePassiveClock(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	config.Clock = clock
	machine, err := nodepressure.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	stats := nodepressure.Stats{
		Signals: map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: nodepressure.MemorySample(400*mi, 3600*mi, time.Time{}),
		},
		Pods: []nodepressure.Pod{
			{Pod: requesting("cart", "2Gi"), Usage: using(1500 * mi)},
			{Pod: requesting("search", "1Gi"), Usage: using(1900 * mi)},
		},
	}
	for range 2 {
		decision := machine.Observe(stats)
		fmt.Println(decision.Action, decision.Conditions)
		for _, eviction := range decision.Evictions {
			fmt.Println(eviction.Pod.Name, "goes:", strings.TrimSpace(eviction.Message))
		}
		clock.SetTime(clock.Now().Add(30 * time.Second))
	}
	fmt.Println(machine.Admit(requesting("newcomer", "")).Message)
	// Output:
	// Nothing [MemoryPressure]
	// EvictPods [MemoryPressure]
	// search goes: The node was low on resource: memory. Threshold quantity: 500Mi, available: 400Mi. Container main was using 1900Mi, request is 1Gi, has larger consumption of memory.
	// The node had condition: [MemoryPressure].
}

func ExampleSettings_Config_faults() {
	_, err := nodepressure.Settings{
		EvictionHard:           map[string]string{"memory.available": "110%", "mem.available": "1Gi"},
		EvictionSoft:           map[string]string{"nodefs.available": "15%"},
		EvictionMinimumReclaim: map[string]string{"nodefs.available": "-1Gi"},
	}.Config()
	fmt.Println(err)
	// Output:
	// [evictionHard[mem.available]: Unsupported value: "mem.available": supported values: "memory.available", "allocatableMemory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available", evictionHard[memory.available]: Invalid value: "110%": must be between 0% and 100%, evictionSoftGracePeriod[nodefs.available]: Required value: a soft threshold needs a grace period, evictionMinimumReclaim[nodefs.available]: Invalid value: "-1Gi": must not be negative]
}

func ExampleMachine_AfterReclaim() {
	machine, err := nodepressure.New(nodepressure.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	disk := func(available int64) nodepressure.Stats {
		return nodepressure.Stats{
			Signals: map[nodepressure.Signal]nodepressure.Sample{
				nodepressure.NodeFsAvailable: {Available: available, Capacity: 100_000 * mi},
			},
			Pods: []nodepressure.Pod{{Pod: requesting("cart", "2Gi")}},
		}
	}
	decision := machine.Observe(disk(9_000 * mi))
	fmt.Println(decision.Threshold, "so", decision.Action, decision.Reclaim)
	fmt.Println(machine.AfterReclaim(decision, disk(12_000*mi)).Action)
	// Output:
	// nodefs.available < 10% so ReclaimNode [DeadContainers UnusedImages]
	// Nothing
}

func ExampleRank() {
	pods := []nodepressure.Pod{
		{Pod: requesting("burstable", "1Gi"), Usage: using(2000 * mi)},
		{Pod: requesting("besteffort", ""), Usage: using(100 * mi)},
	}
	for _, ranking := range []nodepressure.Ranking{nodepressure.ByUsage, nodepressure.ByQOS} {
		for _, candidate := range nodepressure.Rank(pods, nodepressure.MemoryAvailable, nodepressure.SingleFs, ranking) {
			fmt.Println(candidate.Pod.Name, candidate.QOS, "over its request by", candidate.Over()/mi, "Mi")
		}
	}
	// Output:
	// burstable Burstable over its request by 976 Mi
	// besteffort BestEffort over its request by 100 Mi
	// besteffort BestEffort over its request by 100 Mi
	// burstable Burstable over its request by 976 Mi
}

func ExampleAdmit() {
	under := []v1.NodeConditionType{v1.NodeMemoryPressure}
	fmt.Println(nodepressure.Admit(under, requesting("burstable", "1Gi")).Admitted)
	fmt.Println(nodepressure.Admit(under, requesting("besteffort", "")).Admitted)
	// Output:
	// true
	// false
}

// shop is an imaginary node whose agent measures and kills.
type shop struct{ closed context.CancelFunc }

func (s shop) Stats(context.Context) (nodepressure.Stats, error) {
	return nodepressure.Stats{
		Signals: map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: nodepressure.MemorySample(50*mi, 3600*mi, time.Now()),
		},
		Pods: []nodepressure.Pod{
			{Pod: requesting("cart", "2Gi"), Usage: using(1500 * mi)},
			{Pod: requesting("search", "1Gi"), Usage: using(1900 * mi)},
		},
	}, nil
}

func (s shop) Reclaim(context.Context, nodepressure.Reclaim) error { return nil }

func (s shop) Kill(_ context.Context, eviction nodepressure.Eviction) error {
	fmt.Println("kill", eviction.Pod.Name, "for want of", eviction.Cause)
	s.closed() // one is enough for this example
	return nil
}

func (s shop) CleanedUp(*v1.Pod) bool { return true }

func ExampleManager() {
	machine, err := nodepressure.New(nodepressure.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	node := shop{closed: cancel}
	manager, err := nodepressure.NewManager(machine, nodepressure.Clients{StatsProvider: node, Reclaimer: node, Killer: node}, nodepressure.DefaultManagerConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(manager.Run(ctx))
	// Output:
	// kill search for want of memory.available
	// context canceled
}

// slow is a node on which a pod takes 20 seconds to end. Kill only starts that.
type slow struct {
	shop
	clock *clocktesting.FakeClock
	ends  time.Time
}

func (s *slow) Kill(_ context.Context, eviction nodepressure.Eviction) error {
	fmt.Println(s.clock.Now().Format("15:04:05"), "kill", eviction.Pod.Name)
	s.ends = s.clock.Now().Add(20 * time.Second)
	return nil
}

func (s *slow) CleanedUp(*v1.Pod) bool { return !s.clock.Now().Before(s.ends) }

// Your own loop, here in virtual time.
func ExampleManager_Step() {
	clock := clocktesting.NewFakeClock(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	config, managing := nodepressure.DefaultConfig(), nodepressure.DefaultManagerConfig()
	config.Clock, managing.Clock = clock, clock
	machine, err := nodepressure.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	node := &slow{clock: clock}
	manager, err := nodepressure.NewManager(machine, nodepressure.Clients{StatsProvider: node, Killer: node}, managing)
	if err != nil {
		fmt.Println(err)
		return
	}
	for end := clock.Now().Add(30 * time.Second); clock.Now().Before(end); {
		next, err := manager.Step(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		clock.SetTime(next)
	}
	// Output:
	// 00:00:00 kill search
	// 00:00:20 kill search
}

// memoryOf is a measurement of memory alone.
func memoryOf(available int64) nodepressure.Stats {
	return nodepressure.Stats{
		Signals: map[nodepressure.Signal]nodepressure.Sample{nodepressure.MemoryAvailable: {Available: available * mi, Capacity: 4096 * mi}},
		Pods:    []nodepressure.Pod{{Pod: requesting("cart", "1Gi"), Usage: using(1500 * mi)}, {Pod: requesting("search", "1Gi"), Usage: using(1400 * mi)}},
	}
}

// --eviction-minimum-reclaim and --eviction-pressure-transition-period: one more eviction until there is room, and a
// condition that stays a while.
func ExampleSettings() {
	config, err := nodepressure.Settings{
		EvictionHard:                     map[string]string{"memory.available": "100Mi"},
		EvictionMinimumReclaim:           map[string]string{"memory.available": "500Mi"},
		EvictionPressureTransitionPeriod: metav1.Duration{Duration: time.Minute},
	}.Config()
	if err != nil {
		fmt.Println(err)
		return
	}
	clock := clocktesting.NewFakePassiveClock(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	config.Clock = clock
	machine, err := nodepressure.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, available := range []int64{90, 400, 700, 700, 400} {
		decision := machine.Observe(memoryOf(available))
		fmt.Println(clock.Now().Format(time.TimeOnly), available, "Mi left:", decision.Action, decision.Conditions)
		clock.SetTime(clock.Now().Add(40 * time.Second))
	}
	// Output:
	// 00:00:00 90 Mi left: EvictPods [MemoryPressure]
	// 00:00:40 400 Mi left: EvictPods [MemoryPressure]
	// 00:01:20 700 Mi left: Nothing [MemoryPressure]
	// 00:02:00 700 Mi left: Nothing []
	// 00:02:40 400 Mi left: Nothing []
}

// --eviction-max-pod-grace-period: a soft eviction gives the pod its own grace period, up to this maximum. A hard one
// gives one second.
func ExampleEviction() {
	for _, soft := range []bool{true, false} {
		settings := nodepressure.Settings{EvictionHard: map[string]string{"memory.available": "100Mi"}}
		if soft {
			settings = nodepressure.Settings{
				EvictionHard: map[string]string{}, EvictionSoft: map[string]string{"memory.available": "500Mi"},
				EvictionSoftGracePeriod: map[string]string{"memory.available": "30s"}, EvictionMaxPodGracePeriod: 20,
			}
		}
		config, err := settings.Config()
		if err != nil {
			fmt.Println(err)
			return
		}
		clock := clocktesting.NewFakePassiveClock(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		config.Clock = clock
		machine, err := nodepressure.New(config)
		if err != nil {
			fmt.Println(err)
			return
		}
		for range 2 {
			for _, eviction := range machine.Observe(memoryOf(50)).Evictions {
				fmt.Println(clock.Now().Format(time.TimeOnly), eviction.Pod.Name, "hard:", eviction.Hard, "seconds:", eviction.GracePeriodSeconds)
			}
			clock.SetTime(clock.Now().Add(30 * time.Second))
		}
	}
	// Output:
	// 00:00:30 cart hard: false seconds: 20
	// 00:00:00 cart hard: true seconds: 1
	// 00:00:30 cart hard: true seconds: 1
}

// Static, mirror and critical pods never go because the node is short of something.
func ExampleProtectionOf() {
	critical := int32(2_000_000_000)
	static := requesting("static", "")
	static.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	mirror := requesting("mirror", "")
	mirror.Annotations = map[string]string{"kubernetes.io/config.mirror": "7f3a"}
	system := requesting("system", "")
	system.Spec.Priority = &critical
	for _, pod := range []*v1.Pod{requesting("cart", "1Gi"), static, mirror, system} {
		fmt.Println(pod.Name, nodepressure.ProtectionOf(pod))
	}
	// Output:
	// cart Evictable
	// static StaticPod
	// mirror MirrorPod
	// system CriticalPod
}

// The thresholds of the container file system follow from those of the file system that it is on.
func ExampleDeriveContainerFs() {
	config := nodepressure.DefaultConfig()
	for _, layout := range []nodepressure.Layout{nodepressure.SingleFs, nodepressure.DedicatedImageFs} {
		derived, err := nodepressure.DeriveContainerFs(config.Thresholds, layout)
		fmt.Println(layout, err)
		for _, threshold := range derived {
			if threshold.Signal == nodepressure.ContainerFsAvailable {
				fmt.Println(" ", threshold)
			}
		}
	}
	// Output:
	// SingleFs <nil>
	//   containerfs.available < 10%
	// DedicatedImageFs <nil>
	//   containerfs.available < 15%
}

// A pod that exceeds its own limit of local storage goes, whether or not the node is short of anything.
func ExampleMachine_Observe() {
	machine, err := nodepressure.New(nodepressure.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := requesting("cart", "1Gi")
	pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse("1Gi")}
	usage := &nodepressure.Usage{EphemeralStorage: 1100 * mi, Containers: []nodepressure.ContainerUsage{{Name: "main", Logs: nodepressure.Disk{Bytes: 1100 * mi}}}}
	decision := machine.Observe(nodepressure.Stats{Pods: []nodepressure.Pod{{Pod: pod, Usage: usage}}})
	for _, eviction := range decision.Evictions {
		fmt.Println(eviction.Pod.Name, eviction.Message)
	}
	// Output:
	// cart Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.
}

// Notify asks for a pass now, as the kernel's notification does. It never waits.
func ExampleManager_Notify() {
	clock := clocktesting.NewFakeClock(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	config, managing := nodepressure.DefaultConfig(), nodepressure.DefaultManagerConfig()
	config.Clock, managing.Clock = clock, clock
	managing.OnDecision = func(d nodepressure.Decision) { fmt.Println(clock.Now().Format(time.TimeOnly), d.Action) }
	machine, err := nodepressure.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	manager, err := nodepressure.NewManager(machine, nodepressure.Clients{StatsProvider: calm{}, Killer: shop{}}, managing)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, after := range []time.Duration{0, 3 * time.Second} {
		clock.Step(after)
		manager.Notify()
		next, err := manager.Step(context.Background())
		fmt.Println("next", next.Format(time.TimeOnly), err)
	}
	// Output:
	// 00:00:00 Nothing
	// 00:00:00 Nothing
	// next 00:00:10 <nil>
	// 00:00:03 Nothing
	// next 00:00:13 <nil>
}

// calm is a node with enough of everything.
type calm struct{}

func (calm) Stats(context.Context) (nodepressure.Stats, error) { return memoryOf(2000), nil }
