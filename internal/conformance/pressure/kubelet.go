package pressure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// pass is what the kubelet did in one pass, and what it reported after it.
type pass struct {
	at         time.Time
	event      string // about the node
	reclaimed  []nodepressure.Reclaim
	killed     []kill
	conditions []v1.NodeConditionType
	admitted   []lifecycle.PodAdmitResult // of the arrivals
}

// kill is an eviction.
type kill struct {
	pod         string
	seconds     int64
	status      v1.PodStatus
	message     string
	annotations map[string]string
}

// kubelet plays a series on the kubelet's manager, and implements everything that the manager uses. Only the manager's
// goroutine uses it.
type kubelet struct {
	series  *series
	manager eviction.Manager
	admit   lifecycle.PodAdmitHandler
	passes  []pass
	again   bool // the next sample of this pass is the one after reclaiming
	polls   int  // since the last kill
	done    chan struct{}
}

// playKubelet must be called in a bubble. It leaves no goroutine in it.
func playKubelet(s *series) ([]pass, error) {
	soft := s.settings.EvictionSoft
	enforce := s.settings.EnforceNodeAllocatable
	if enforce == nil {
		enforce = []string{"pods"}
	}
	thresholds, err := eviction.ParseThresholdConfig(enforce, s.settings.EvictionHard, soft, s.settings.EvictionSoftGracePeriod, s.settings.EvictionMinimumReclaim)
	if err != nil {
		return nil, err
	}
	k := &kubelet{series: s, done: make(chan struct{})}
	config := eviction.Config{PressureTransitionPeriod: s.config.PressureTransitionPeriod, MaxPodGracePeriodSeconds: s.config.MaxPodGracePeriodSeconds, Thresholds: thresholds}
	k.manager, k.admit = eviction.NewManager(k, config, k.kill, k, k, k, &v1.ObjectReference{Kind: "Node", Name: "node"}, clock.RealClock{}, s.config.LocalStorageLimits)
	ctx := klog.NewContext(context.Background(), logr.Discard())
	k.manager.Start(ctx, k, k.pods, k.cleanedUp, s.period)
	<-k.done
	return k.passes, nil
}

func (k *kubelet) now() *pass { return &k.passes[len(k.passes)-1] }
func (k *kubelet) step() step { return k.series.steps[len(k.passes)-1] }

// pods begins a pass. The kubelet sorts the result in place. Its loop never ends, so the series ends it from here.
func (k *kubelet) pods() []*v1.Pod {
	if len(k.passes) > 0 {
		k.ask()
	}
	if len(k.passes) == len(k.series.steps) {
		close(k.done)
		runtime.Goexit()
	}
	k.passes = append(k.passes, pass{at: time.Now()})
	k.again = false
	var pods []*v1.Pod
	for _, pod := range k.step().stats.Pods {
		pods = append(pods, pod.Pod)
	}
	return pods
}

// ask records what the manager reports about itself.
func (k *kubelet) ask() {
	p := k.now()
	for condition, under := range map[v1.NodeConditionType]bool{
		v1.NodeMemoryPressure: k.manager.IsUnderMemoryPressure(), v1.NodeDiskPressure: k.manager.IsUnderDiskPressure(), v1.NodePIDPressure: k.manager.IsUnderPIDPressure(),
	} {
		if under {
			p.conditions = append(p.conditions, condition)
		}
	}
	for _, pod := range k.series.arrivals {
		p.admitted = append(p.admitted, k.admit.Admit(context.Background(), &lifecycle.PodAdmitAttributes{Pod: pod}))
	}
}

var errMade = errors.New("made to fail")

// Get returns the statistics.
func (k *kubelet) Get(context.Context, bool) (*statsapi.Summary, error) {
	s := k.step()
	stats, failed := s.stats, s.failed
	if k.again {
		stats, failed = s.after, s.afterFailed
	}
	k.again = true
	if failed {
		return nil, errMade
	}
	if s.summary != nil {
		return s.summary, nil
	}
	return summary(stats), nil
}

// GetCPUAndMemoryStats is not called by the manager.
func (k *kubelet) GetCPUAndMemoryStats(context.Context) (*statsapi.Summary, error) {
	return nil, errMade
}

// HasDedicatedImageFs and HasDedicatedContainerFs report the layout.
func (k *kubelet) HasDedicatedImageFs(context.Context) (bool, error) {
	return k.series.config.Layout != nodepressure.SingleFs, nil
}

// HasDedicatedContainerFs says whether writable layers are apart from images.
func (k *kubelet) HasDedicatedContainerFs(context.Context) (bool, error) {
	return k.series.config.Layout == nodepressure.SplitImageFs, nil
}

// DeleteUnusedImages and DeleteAllUnusedContainers reclaim.
func (k *kubelet) DeleteUnusedImages(context.Context) error {
	return k.reclaim(nodepressure.UnusedImages)
}

// DeleteAllUnusedContainers reclaims containers.
func (k *kubelet) DeleteAllUnusedContainers(context.Context) error {
	return k.reclaim(nodepressure.DeadContainers)
}

func (k *kubelet) reclaim(what nodepressure.Reclaim) error {
	k.now().reclaimed = append(k.now().reclaimed, what)
	if k.step().reclaimFails {
		return errMade
	}
	return nil
}

func (k *kubelet) kill(pod *v1.Pod, _ bool, seconds *int64, status func(*v1.PodStatus)) error {
	killed := &k.now().killed[len(k.now().killed)-1] // its event came before
	if killed.pod != pod.Name {
		return fmt.Errorf("killed %s after an event about %s", pod.Name, killed.pod)
	}
	killed.seconds = *seconds
	status(&killed.status)
	k.polls = 0
	// Upstream, the kubelet's pod workers do this, outside the manager's package.
	if timeout := time.Duration(max(10, *seconds+*seconds/2)) * time.Second; k.step().hang > timeout {
		clock.RealClock{}.Sleep(timeout)
		return errMade
	}
	clock.RealClock{}.Sleep(k.step().hang)
	return nil
}

func (k *kubelet) cleanedUp(*v1.Pod) bool {
	k.polls++
	return k.polls > k.step().polls
}

// Event is not called by the manager.
func (k *kubelet) Event(apiruntime.Object, string, string, string) {}

// Eventf records an event about the node.
func (k *kubelet) Eventf(_ apiruntime.Object, _, reason, format string, args ...any) {
	if reason == "EvictionThresholdMet" {
		k.now().event = fmt.Sprintf(format, args...)
	}
}

// AnnotatedEventf records an event about an evicted pod.
func (k *kubelet) AnnotatedEventf(object apiruntime.Object, annotations map[string]string, _, _, format string, args ...any) {
	if pod, ok := object.(*v1.Pod); ok {
		k.now().killed = append(k.now().killed, kill{pod: pod.Name, message: fmt.Sprintf(format, args...), annotations: annotations})
	}
}

// sortedConditions makes the kubelet's message about conditions comparable, because it lists them in the order of a
// map.
func sortedConditions(message string) string {
	begin, end := strings.IndexByte(message, '['), strings.IndexByte(message, ']')
	if begin < 0 || end < begin {
		return message
	}
	return message[:begin] + fmt.Sprint(sorted(strings.Fields(message[begin+1:end]))) + message[end+1:]
}
