package eviction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/features"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/server/stats"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/summary"
)

// Names that the other files and the tests use.
const (
	immediateEvictionGracePeriodSeconds = 1
	signalEphemeralContainerFsLimit     = nodepressure.ContainerLimit
	signalEphemeralPodFsLimit           = nodepressure.PodLimit
	signalEmptyDirFsLimit               = nodepressure.EmptyDirLimit
)

// managerImpl has the fields that upstream's tests set, and asks ours.
type managerImpl struct {
	clock       clock.WithTicker
	config      Config
	killPodFunc KillPodFunc
	imageGC     ImageGC
	containerGC ContainerGC
	sync.RWMutex
	nodeConditions                []v1.NodeConditionType
	nodeConditionsLastObservedAt  nodeConditionsObservedAt
	nodeRef                       *v1.ObjectReference
	recorder                      record.EventRecorder
	summaryProvider               stats.SummaryProvider
	thresholdsFirstObservedAt     thresholdsObservedAt
	thresholdsMet                 []evictionapi.Threshold
	dedicatedImageFs              *bool
	splitContainerImageFs         *bool
	thresholdNotifiers            []ThresholdNotifier
	thresholdsLastUpdated         time.Time
	localStorageCapacityIsolation bool

	machine *nodepressure.Machine
	manager *nodepressure.Manager
	io      *io
}

func (m *managerImpl) init(ctx context.Context, disk DiskInfoProvider) error {
	if m.machine != nil {
		return nil
	}
	if m.clock == nil {
		m.clock = testingclock.NewFakeClock(time.Now())
	}
	layout := nodepressure.SingleFs
	image, split := false, false
	var err error
	if m.dedicatedImageFs != nil {
		image = *m.dedicatedImageFs
	} else if disk != nil {
		if image, err = disk.HasDedicatedImageFs(ctx); err != nil {
			return err
		}
		split, _ = disk.HasDedicatedContainerFs(ctx)
	}
	switch {
	case split && !utilfeature.DefaultFeatureGate.Enabled(features.KubeletSeparateDiskGC):
		return errors.New("KubeletSeparateDiskGC is turned off but we still have a split filesystem") // the adapter's own
	case image && split:
		layout = nodepressure.SplitImageFs
	case image:
		layout = nodepressure.DedicatedImageFs
	case split:
		return fmt.Errorf("adapter: containerfs without imagefs has no layout")
	}
	// Those of container file systems are derived, as upstream's manager replaces them.
	watched := slices.DeleteFunc(toOurs(m.config.Thresholds), func(t nodepressure.Threshold) bool {
		return t.Signal == nodepressure.ContainerFsAvailable || t.Signal == nodepressure.ContainerFsInodesFree
	})
	m.machine, err = nodepressure.New(nodepressure.Config{
		Thresholds: watched, PressureTransitionPeriod: m.config.PressureTransitionPeriod,
		MaxPodGracePeriodSeconds: m.config.MaxPodGracePeriodSeconds, Layout: layout, LocalStorageLimits: m.localStorageCapacityIsolation, Clock: m.clock,
	})
	if err != nil {
		return err
	}
	if os.Getenv("THROUGH") == "Manager" {
		config := nodepressure.DefaultManagerConfig()
		config.Clock = m.clock
		m.io = &io{m: m}
		config.OnDecision = func(d nodepressure.Decision) {
			if e := d.Event(); e != "" && !m.io.told {
				m.io.told = true
				m.recorder.Eventf(m.nodeRef, v1.EventTypeWarning, "EvictionThresholdMet", "%s", e)
			}
		}
		m.manager, err = nodepressure.NewManager(m.machine, nodepressure.Clients{StatsProvider: m.io, Reclaimer: m.io, Killer: m.io}, config)
	}
	return err
}

// io are the clients of a Manager: one pass for each Step.
type io struct {
	m         *managerImpl
	pods      ActivePodsFunc
	passes    int
	reclaimed bool
	told      bool
	killed    []*v1.Pod
}

func (i *io) Stats(ctx context.Context) (nodepressure.Stats, error) {
	if i.passes > 0 && !i.reclaimed {
		return nodepressure.Stats{}, errors.New("adapter: one pass is enough")
	}
	i.passes++
	i.reclaimed = false
	s, err := i.m.summaryProvider.Get(ctx, true)
	if err != nil {
		return nodepressure.Stats{}, err
	}
	return sample(s, i.pods())
}

func (i *io) Reclaim(ctx context.Context, what nodepressure.Reclaim) error {
	i.reclaimed = true
	if what == nodepressure.UnusedImages {
		return i.m.imageGC.DeleteUnusedImages(ctx)
	}
	return i.m.containerGC.DeleteAllUnusedContainers(ctx)
}

func (i *io) Kill(_ context.Context, e nodepressure.Eviction) error {
	i.killed = append(i.killed, e.Pod)
	return i.m.kill(e)
}
func (i *io) CleanedUp(*v1.Pod) bool { return true }

func (m *managerImpl) kill(e nodepressure.Eviction) error {
	m.recorder.AnnotatedEventf(e.Pod, e.Annotations, v1.EventTypeWarning, Reason, "%s", e.Message)
	grace := e.GracePeriodSeconds
	return m.killPodFunc(e.Pod, true, &grace, func(status *v1.PodStatus) { e.Apply(status, metav1.Now()) })
}

func sample(s *statsapi.Summary, pods []*v1.Pod) (nodepressure.Stats, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nodepressure.Stats{}, err
	}
	joined, err := summary.Join(body, pods)
	for _, pod := range joined.Unmeasured { // a kubelet's pods and samples come from one program
		joined.Pods = append(joined.Pods, nodepressure.Pod{Pod: pod})
	}
	return joined.Stats, err
}

func (m *managerImpl) synchronize(ctx context.Context, disk DiskInfoProvider, podFunc ActivePodsFunc) ([]*v1.Pod, error) {
	if err := m.init(ctx, disk); err != nil {
		return nil, err
	}
	if m.manager != nil {
		m.io.pods, m.io.passes, m.io.reclaimed, m.io.told, m.io.killed = podFunc, 0, false, false, nil
		m.manager.Notify()
		if _, err := m.manager.Step(ctx); err != nil {
			return nil, err
		}
		return m.io.killed, nil
	}
	s, err := m.summaryProvider.Get(ctx, true)
	if err != nil {
		return nil, nil
	}
	given, err := sample(s, podFunc())
	if err != nil {
		return nil, err
	}
	d := m.machine.Observe(given)
	if e := d.Event(); e != "" {
		m.recorder.Eventf(m.nodeRef, v1.EventTypeWarning, "EvictionThresholdMet", "%s", e)
	}
	if d.Action == nodepressure.ReclaimNode {
		for _, what := range d.Reclaim {
			if what == nodepressure.UnusedImages {
				_ = m.imageGC.DeleteUnusedImages(ctx)
			} else {
				_ = m.containerGC.DeleteAllUnusedContainers(ctx)
			}
		}
		var after nodepressure.Stats
		if s, err := m.summaryProvider.Get(ctx, true); err == nil {
			if after, err = sample(s, podFunc()); err != nil {
				return nil, err
			}
		}
		d = m.machine.AfterReclaim(d, after)
	}
	if d.Action != nodepressure.EvictPods {
		return nil, nil
	}
	var evicted []*v1.Pod
	for _, e := range d.Evictions {
		_ = m.kill(e)
		evicted = append(evicted, e.Pod)
	}
	return evicted, nil
}

func (m *managerImpl) under() []v1.NodeConditionType {
	if m.machine == nil {
		return m.nodeConditions
	}
	return m.machine.Conditions()
}
func (m *managerImpl) IsUnderMemoryPressure() bool {
	return hasNodeCondition(m.under(), v1.NodeMemoryPressure)
}
func (m *managerImpl) IsUnderDiskPressure() bool {
	return hasNodeCondition(m.under(), v1.NodeDiskPressure)
}
func (m *managerImpl) IsUnderPIDPressure() bool {
	return hasNodeCondition(m.under(), v1.NodePIDPressure)
}

func (m *managerImpl) Admit(_ context.Context, attrs *lifecycle.PodAdmitAttributes) lifecycle.PodAdmitResult {
	a := nodepressure.Admit(m.under(), attrs.Pod)
	if m.machine != nil {
		a = m.machine.Admit(attrs.Pod)
	}
	return lifecycle.PodAdmitResult{Admit: a.Admitted, Reason: a.Reason, Message: a.Message}
}

func (m *managerImpl) localLimits(s statsapi.PodStats, pod *v1.Pod, cause string) bool {
	m.localStorageCapacityIsolation = true
	if err := m.init(context.Background(), nil); err != nil {
		panic(err)
	}
	given, err := sample(&statsapi.Summary{Pods: []statsapi.PodStats{s}}, []*v1.Pod{pod})
	if err != nil {
		panic(err)
	}
	hit := false
	for _, e := range m.machine.Observe(given).Evictions {
		if e.Cause == cause {
			_ = m.kill(e)
			hit = true
		}
	}
	return hit
}

func (m *managerImpl) emptyDirLimitEviction(_ klog.Logger, s statsapi.PodStats, pod *v1.Pod) bool {
	return m.localLimits(s, pod, nodepressure.EmptyDirLimit)
}
func (m *managerImpl) podEphemeralStorageLimitEviction(_ klog.Logger, s statsapi.PodStats, pod *v1.Pod) bool {
	return m.localLimits(s, pod, nodepressure.PodLimit)
}
func (m *managerImpl) containerEphemeralStorageLimitEviction(_ klog.Logger, s statsapi.PodStats, pod *v1.Pod) bool {
	return m.localLimits(s, pod, nodepressure.ContainerLimit)
}

// ParseThresholdConfig parses with our Settings.
func ParseThresholdConfig(allocatable []string, hard, soft, grace, reclaim map[string]string) ([]evictionapi.Threshold, error) {
	if allocatable == nil {
		allocatable = []string{}
	}
	if hard == nil {
		hard = map[string]string{}
	}
	settings := nodepressure.Settings{EvictionHard: hard, EvictionSoft: soft, EvictionSoftGracePeriod: grace, EvictionMinimumReclaim: reclaim, EnforceNodeAllocatable: allocatable}
	thresholds, err := settings.ParseThresholds()
	return toTheirs(thresholds), err
}

// UpdateContainerFsThresholds derives with ours.
func UpdateContainerFsThresholds(thresholds []evictionapi.Threshold, imageFs, split bool) ([]evictionapi.Threshold, error) {
	layout := nodepressure.SingleFs
	switch {
	case imageFs && split:
		layout = nodepressure.SplitImageFs
	case imageFs:
		layout = nodepressure.DedicatedImageFs
	}
	derived, err := nodepressure.DeriveContainerFs(toOurs(thresholds), layout)
	return toTheirs(derived), err
}

func toOurs(list []evictionapi.Threshold) (result []nodepressure.Threshold) {
	for _, t := range list {
		o := nodepressure.Threshold{Signal: nodepressure.Signal(t.Signal), Value: valueToOurs(t.Value), GracePeriod: t.GracePeriod}
		if t.MinReclaim != nil {
			o.MinReclaim = valueToOurs(*t.MinReclaim)
		}
		result = append(result, o)
	}
	return result
}

func valueToOurs(v evictionapi.ThresholdValue) nodepressure.Value {
	o := nodepressure.Value{Percentage: v.Percentage}
	if v.Quantity != nil {
		o.Quantity = *v.Quantity
	}
	return o
}

func toTheirs(list []nodepressure.Threshold) (result []evictionapi.Threshold) {
	for _, o := range list {
		t := evictionapi.Threshold{Signal: evictionapi.Signal(o.Signal), Operator: evictionapi.OpLessThan, Value: valueToTheirs(o.Value), GracePeriod: o.GracePeriod}
		r := valueToTheirs(o.MinReclaim)
		t.MinReclaim = &r
		result = append(result, t)
	}
	return result
}

func valueToTheirs(v nodepressure.Value) evictionapi.ThresholdValue {
	if v.Percentage != 0 {
		return evictionapi.ThresholdValue{Percentage: v.Percentage}
	}
	q := v.Quantity
	return evictionapi.ThresholdValue{Quantity: &q}
}
