package pressure

import (
	"fmt"
	"math/rand"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// series is what a node goes through, made from a seed.
type series struct {
	settings nodepressure.Settings
	config   nodepressure.Config // ours; its transition period may be 0, which settings cannot express
	period   time.Duration       // between passes
	steps    []step              // one per pass
	arrivals []*v1.Pod           // asked for admission after every pass
}

// step is what is measured in a pass, and again after reclaiming.
type step struct {
	stats, after        nodepressure.Stats
	failed, afterFailed bool
	reclaimFails        bool
	polls               int               // for how many polls killed pods are not cleaned up
	hang                time.Duration     // how long a kill takes
	summary             *statsapi.Summary // if not nil, the kubelet gets this instead
}

// epoch is when samples begin; they are compared only with each other.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func newSeries(seed int64) *series {
	r := rand.New(rand.NewSource(seed))
	s := &series{settings: randomSettings(r), period: time.Duration(1+r.Intn(40)) * time.Second}
	config, err := s.settings.Config()
	if err != nil {
		panic(err) //nolint:forbidigo // our own settings do not parse
	}
	s.config = config
	s.config.Layout = nodepressure.Layout(r.Intn(3))
	s.config.LocalStorageLimits = r.Intn(4) == 0
	s.config.PressureTransitionPeriod = time.Duration(r.Intn(4)) * 40 * time.Second
	pods := make([]*v1.Pod, r.Intn(8))
	for i := range pods {
		pods[i] = randomPod(r, fmt.Sprintf("pod-%d", i))
	}
	for i := range 6 {
		s.arrivals = append(s.arrivals, randomPod(r, fmt.Sprintf("arrival-%d", i)))
	}
	for i := range 25 {
		s.steps = append(s.steps, step{
			stats: randomStats(r, i, pods), after: randomStats(r, i, nil),
			failed: r.Intn(15) == 0, afterFailed: r.Intn(10) == 0, reclaimFails: r.Intn(10) == 0, polls: r.Intn(35),
		})
	}
	return s
}

// randomSettings has at most 12 thresholds that can be met, because the order in which the kubelet sorts more depends
// on their number.
func randomSettings(r *rand.Rand) nodepressure.Settings {
	amounts := []string{"200", "300", "500", "400", "10%", "30%", "33.3%", "50%"}
	amount := func() string { return amounts[r.Intn(len(amounts))] }
	// No capacity is too small for any of these and any of the amounts: then ours would ignore it.
	reclaims := []string{"200", "300", "10%", "30%", "33.3%"}
	s := nodepressure.Settings{
		EvictionHard: map[string]string{"memory.available": amount()}, EvictionSoft: map[string]string{}, EvictionSoftGracePeriod: map[string]string{},
		EvictionMinimumReclaim: map[string]string{}, EvictionMaxPodGracePeriod: int32([]int{-10, -1, 0, 2, 20, 50}[r.Intn(6)]),
	}
	if r.Intn(3) == 0 {
		s.EnforceNodeAllocatable = []string{}
	}
	names := []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"}
	for count := 0; count < 4; count++ {
		name := names[r.Intn(len(names))]
		if r.Intn(2) == 0 {
			s.EvictionHard[name] = amount()
		} else {
			s.EvictionSoft[name], s.EvictionSoftGracePeriod[name] = amount(), fmt.Sprintf("%ds", 1+r.Intn(90))
		}
		if r.Intn(2) == 0 {
			s.EvictionMinimumReclaim[name] = reclaims[r.Intn(len(reclaims))]
		}
	}
	return s
}

// randomStats is a sample of most signals. The two of a file system are measured at the same time.
func randomStats(r *rand.Rand, pass int, pods []*v1.Pod) nodepressure.Stats {
	stats := nodepressure.Stats{Signals: map[nodepressure.Signal]nodepressure.Sample{}}
	nothing, plenty := r.Intn(12) == 0, r.Intn(3) == 0
	var at time.Time
	for i, signal := range nodepressure.Signals() {
		if fs := i >= 2 && i < 8; !fs || i%2 == 0 {
			at = time.Time{}
			if r.Intn(5) > 0 {
				at = epoch.Add(time.Duration(pass*10-r.Intn(25)) * time.Second)
			}
		}
		if nothing || r.Intn(8) == 0 {
			continue
		}
		capacity := 900 + r.Int63n(200)
		sample := nodepressure.Sample{Available: r.Int63n(capacity), Capacity: capacity, Time: at}
		if plenty || r.Intn(3) == 0 {
			sample.Available, sample.Capacity = 2000, 2000
		}
		stats.Signals[signal] = sample
	}
	for _, pod := range pods {
		if r.Intn(6) > 0 {
			stats.Pods = append(stats.Pods, nodepressure.Pod{Pod: pod, Usage: randomUsage(r, pod)})
		}
	}
	r.Shuffle(len(stats.Pods), func(i, j int) { stats.Pods[i], stats.Pods[j] = stats.Pods[j], stats.Pods[i] })
	return stats
}

func randomUsage(r *rand.Rand, pod *v1.Pod) *nodepressure.Usage {
	if r.Intn(8) == 0 {
		return nil
	}
	some := func() int64 { return r.Int63n(4) * 50 }
	disk := func() nodepressure.Disk { return nodepressure.Disk{Bytes: some(), Inodes: some()} }
	u := &nodepressure.Usage{Memory: r.Int63n(5)*60 + r.Int63n(2), Processes: r.Int63n(4), EphemeralStorage: some() + some()}
	for _, volume := range pod.Spec.Volumes {
		if r.Intn(5) > 0 {
			u.Volumes = append(u.Volumes, nodepressure.VolumeUsage{Name: volume.Name, Disk: disk()})
		}
	}
	for _, container := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		if r.Intn(5) > 0 {
			u.Containers = append(u.Containers, nodepressure.ContainerUsage{Name: container.Name, Memory: r.Int63n(4) * 50, Rootfs: disk(), Logs: disk()})
		}
	}
	u.Containers = append(u.Containers, nodepressure.ContainerUsage{Name: "ephemeral", Memory: some(), Rootfs: disk(), Logs: disk()})
	return u
}

func randomPod(r *rand.Rand, name string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Generation: 7}}
	if r.Intn(5) > 0 {
		priority := int32(r.Intn(3))
		if r.Intn(10) == 0 {
			priority = 2_000_000_000
		}
		pod.Spec.Priority = &priority
	}
	switch r.Intn(12) {
	case 0:
		pod.Annotations = map[string]string{"kubernetes.io/config.source": []string{"file", "api", "http"}[r.Intn(3)]}
	case 1:
		pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: string(pod.UID)}
	}
	if r.Intn(2) == 0 {
		seconds := 2 + r.Int63n(60)
		pod.Spec.TerminationGracePeriodSeconds = &seconds
	}
	for i := range 1 + r.Intn(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: fmt.Sprintf("main-%d", i), Resources: randomResources(r)})
	}
	always := v1.ContainerRestartPolicyAlways
	for i := range r.Intn(3) {
		c := v1.Container{Name: fmt.Sprintf("init-%d", i), Resources: randomResources(r)}
		if r.Intn(2) == 0 {
			c.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if r.Intn(5) == 0 {
		l := v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(r.Int63n(3)*60, resource.BinarySI)}}
		pod.Spec.Resources = &l
	}
	if r.Intn(5) == 0 {
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceMemory: resource.MustParse("10"), v1.ResourceEphemeralStorage: resource.MustParse("20")}
	}
	randomVolumes(r, pod)
	if r.Intn(5) == 0 {
		pod.Status.QOSClass = []v1.PodQOSClass{v1.PodQOSBestEffort, v1.PodQOSBurstable, v1.PodQOSGuaranteed}[r.Intn(3)]
	}
	if r.Intn(4) == 0 {
		pod.Spec.Tolerations = []v1.Toleration{{
			Key:      []string{"", v1.TaintNodeMemoryPressure, v1.TaintNodeDiskPressure}[r.Intn(3)],
			Operator: v1.TolerationOpExists,
			Effect:   []v1.TaintEffect{"", v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute}[r.Intn(3)],
		}}
	}
	return pod
}

// randomResources has requests at or below limits, as the API requires.
func randomResources(r *rand.Rand) v1.ResourceRequirements {
	result := v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}
	same := r.Intn(3) == 0
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		if !same && r.Intn(2) == 0 {
			continue
		}
		request := r.Int63n(3) * 60
		limit := request + r.Int63n(3)*100
		if same {
			request, limit = 60, 60
		}
		fraction := int64(0)
		if request < limit && r.Intn(3) == 0 {
			fraction = 500
		}
		if same || r.Intn(3) > 0 {
			result.Requests[name] = *resource.NewMilliQuantity(request*1000+fraction, resource.BinarySI)
		}
		if same || r.Intn(3) > 0 {
			result.Limits[name] = *resource.NewQuantity(limit, resource.BinarySI)
		}
	}
	return result
}

func randomVolumes(r *rand.Rand, pod *v1.Pod) {
	for i := range r.Intn(3) {
		v := v1.Volume{Name: fmt.Sprintf("volume-%d", i)}
		switch r.Intn(6) {
		case 0:
			v.HostPath = &v1.HostPathVolumeSource{}
		case 1:
			v.ConfigMap = &v1.ConfigMapVolumeSource{}
		case 2:
			v.Secret = &v1.SecretVolumeSource{}
		default:
			v.EmptyDir = &v1.EmptyDirVolumeSource{}
			if r.Intn(4) == 0 {
				v.EmptyDir.Medium = v1.StorageMediumMemory
			}
			if r.Intn(3) == 0 {
				v.EmptyDir.SizeLimit = resource.NewQuantity(r.Int63n(4)*60, resource.BinarySI)
			}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v)
	}
}
