package drill

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
)

// small is a cluster of two nodes in each of two or three zones, and one workload with a pod on each node that is named.
type small struct {
	zones   []string
	kind    string
	on      []string
	pod     func(*v1.Pod)
	objects []any
}

func (s small) open(t *testing.T) *Cluster {
	t.Helper()
	items := s.objects
	for _, zone := range s.zones {
		for _, name := range []string{zone + "0", zone + "1"} {
			n := &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
			n.Name, n.Labels = name, map[string]string{v1.LabelTopologyZone: zone, v1.LabelHostname: name}
			n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
			items = append(items, n)
		}
	}
	isTrue, seconds := true, int64(300)
	for i, node := range s.on {
		p := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		p.Namespace, p.Name, p.Labels = "shop", "w-"+string(rune('0'+i)), map[string]string{"app": "w"}
		p.OwnerReferences = []metav1.OwnerReference{{Kind: s.kind, Name: "w", Controller: &isTrue}}
		p.Spec.NodeName = node
		for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
			p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
		if s.pod != nil {
			s.pod(p)
		}
		items = append(items, p)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "dump.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	c, err := Open(t.Context(), []string{path}, evictor.DefaultConfig())
	require.NoError(t, err)
	return c
}

// hurt loses zone a for an hour.
func (s small) hurt(t *testing.T) (Hurt, *Result) {
	t.Helper()
	c := s.open(t)
	losses, err := c.Losses(nil, time.Hour)
	require.NoError(t, err)
	r, err := c.Play(t.Context(), losses[0], false)
	require.NoError(t, err)
	hurts, outOfService, err := c.Hurts(t.Context(), r, 1)
	require.NoError(t, err)
	require.Len(t, hurts, 1)
	return hurts[0], outOfService
}

func cpus(amount string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(amount)}}}}
	}
}

func spread(taints v1.NodeInclusionPolicy) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, NodeTaintsPolicy: &taints,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "w"}},
		}}
	}
}

// apart keeps two pods from one node, or would rather.
func apart(required bool) func(*v1.Pod) {
	return func(p *v1.Pod) {
		term := v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "w"}}}
		anti := &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}}
		if required {
			anti = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
		}
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: anti}
	}
}

func job(limit int32, policy bool) []any {
	j := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}}
	j.Namespace, j.Name, j.Spec.BackoffLimit = "shop", "w", &limit
	if policy {
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}},
		}}}
	}
	return []any{j}
}

// volume binds the only pod to a volume in zone a.
func volume() []any {
	claim := &v1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}}
	claim.Namespace, claim.Name = "shop", "data"
	claim.Spec.AccessModes, claim.Spec.VolumeName, claim.Status.Phase = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, "pv", v1.ClaimBound
	pv := &v1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}}
	pv.Name, pv.Labels = "pv", map[string]string{v1.LabelTopologyZone: "a"}
	pv.Spec.AccessModes, pv.Spec.ClaimRef = claim.Spec.AccessModes, &v1.ObjectReference{Namespace: "shop", Name: "data"}
	return []any{claim, pv}
}

// Each reason is what the simulation's scheduler, or a Job's controller, really said. Where a remedy can be played, it helps.
func TestWhyAWorkloadSuffers(t *testing.T) {
	three, two, each := []string{"a", "b", "c"}, []string{"a", "b"}, []string{"a0", "a1", "b0", "b1", "c0", "c1"}
	for name, test := range map[string]struct {
		small
		because, remedy, refused string
		remedied                 *small // of which less is lost
	}{
		"hard spread": {
			small: small{three, "ReplicaSet", each, spread("Ignore"), nil}, because: "its topologySpreadConstraints still count the lost nodes",
			remedy: "nodeTaintsPolicy: Honor in them, or whenUnsatisfiable: ScheduleAnyway", refused: "0/6 nodes: 4 topology spread, 2 not Ready",
			remedied: &small{three, "ReplicaSet", each, spread("Honor"), nil},
		},
		"no room": {
			small: small{three, "ReplicaSet", each, cpus("3"), nil}, because: "there is no room for its pods elsewhere (cpu)", remedy: "more room, or lower requests",
			refused: "0/6 nodes: 4 cpu, 2 not Ready", remedied: &small{three, "ReplicaSet", each, cpus("1"), nil},
		},
		"a Job that allows no failure": {
			small: small{three, "Job", each, nil, job(0, false)}, because: "the Job fails: evicted pods count as failed, and its backoffLimit is 0",
			remedy: jobFails, remedied: &small{three, "Job", each, nil, job(0, true)},
		},
		"a Job that goes on": {
			small: small{three, "Job", []string{"a0", "a1", "b0"}, nil, job(6, false)}, because: "its pods wait for their tolerationSeconds",
			remedy: "shorter tolerationSeconds for unreachable and not-ready",
		},
		"a selector": {
			small:   small{three, "ReplicaSet", []string{"a0", "a1"}, func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "a"} }, nil},
			because: "its node selector or affinity leaves no node", remedy: "a selector that more nodes match, or more such nodes", refused: "0/6 nodes: 4 selector, 2 not Ready",
		},
		"stuck": {
			small: small{three, "StatefulSet", each, nil, nil}, because: "its pods are stuck until their nodes are back, or are tainted out of service", remedy: OutOfService,
		},
		"stuck, with a volume in the lost zone": {
			small: small{three, "StatefulSet", []string{"a0"}, func(p *v1.Pod) {
				p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			}, volume()},
			because: "its pods are stuck, and tainting their nodes out of service would not help: its volumes cannot be reached from the other nodes",
			remedy:  "storage that several zones reach, or replicas with volumes elsewhere", refused: "0/6 nodes: 4 volume, 2 not Ready",
		},
		"anti-affinity": {
			small: small{three, "ReplicaSet", each, apart(true), nil}, because: "its required pod affinity or anti-affinity leaves no node",
			remedy: "preferred pod (anti-)affinity in place of the required one, or more nodes", refused: "0/6 nodes: 4 pod affinity, 2 not Ready",
			remedied: &small{three, "ReplicaSet", each, apart(false), nil},
		},
		"stuck, behind a pod that finds no room": {
			small:   small{three, "StatefulSet", each, cpus("3"), nil},
			because: "its pods are stuck, and tainting their nodes out of service would not help: there is no room for its pods elsewhere (cpu)",
			remedy:  "more room, or lower requests", refused: "0/6 nodes: 4 cpu, 2 not Ready",
		},
		"stuck, the pod between them is not": {
			small:   small{three, "StatefulSet", []string{"a0", "b0", "a1"}, nil, nil},
			because: "its pods are stuck until their nodes are back, or are tainted out of service", remedy: OutOfService,
		},
		"stuck, behind a pod that is not Ready": {
			small: small{three, "StatefulSet", []string{"b0", "a0", "c0"}, func(p *v1.Pod) {
				if p.Spec.NodeName == "b0" {
					p.Status.Phase, p.Status.Conditions = v1.PodRunning, []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
				}
			}, nil},
			because: "its pods are stuck, and tainting their nodes out of service would not help: a pod before them is not Ready",
			remedy:  "find out why that one is not Ready, or podManagementPolicy: Parallel",
		},
		"one pod":       {small: small{three, "ReplicaSet", []string{"a0"}, nil, nil}, because: "it has one pod", remedy: "a second replica on another node"},
		"all in a zone": {small: small{three, "ReplicaSet", []string{"a0", "a1"}, nil, nil}, because: "2 of its 2 pods were on the lost nodes", remedy: "topologySpreadConstraints over topology.kubernetes.io/zone"},
		"spread over two zones already": {
			small: small{two, "ReplicaSet", each[:4], nil, nil}, because: "its pods wait for their tolerationSeconds", remedy: "shorter tolerationSeconds for unreachable and not-ready",
		},
	} {
		t.Run(name, func(t *testing.T) {
			hurt, outOfService := test.hurt(t)
			require.Equal(t, test.because, hurt.Because)
			require.Equal(t, test.remedy, hurt.Remedy)
			require.Equal(t, test.refused, hurt.Refused)
			if test.remedy == OutOfService {
				require.Less(t, outOfService.PodHoursMissing, hurt.PodHoursMissing/2)
			}
			if outOfService != nil {
				require.Zero(t, outOfService.Stuck(), "the taint lets all of them go")
			}
			if test.remedied != nil {
				better, _ := test.remedied.hurt(t)
				require.Less(t, better.PodHoursMissing, hurt.PodHoursMissing/2)
			}
		})
	}
}

// Nodes that are back serve again: nobody leaves their taint there. Where it frees nobody, it costs nothing.
func TestTheOutOfServiceTaintIsLifted(t *testing.T) {
	c := small{[]string{"a", "b"}, "StatefulSet", []string{"a0", "b0"}, func(p *v1.Pod) {
		cpus("3")(p)
		p.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: p.Spec.NodeName[:1]}
	}, nil}.open(t)
	losses, err := c.Losses(nil, time.Hour)
	require.NoError(t, err)
	today, err := c.Play(t.Context(), losses[0], false)
	require.NoError(t, err)
	tainted, err := c.Play(t.Context(), losses[0], true)
	require.NoError(t, err)
	require.InDelta(t, today.PodHoursLost, tainted.PodHoursLost, 0.01)
	require.Zero(t, tainted.PendingAtEnd)
}

// Pods that find no node whenever they are evicted do not make it look wise to evict them late.
func TestSettingsAreNotSlowedDownBecausePodsFindNoNode(t *testing.T) {
	c := small{[]string{"a", "b", "c"}, "ReplicaSet", []string{"a0", "a1", "b0", "b1", "c0", "c1"}, spread("Ignore"), nil}.open(t)
	losses, err := c.Losses(nil, time.Hour)
	require.NoError(t, err)
	a, err := (&Search{Cluster: c, Losses: append(losses[:1:1], losses[len(losses)-len(losses)*4/5:][:4]...)}).Run(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, a.Best.BeforeEviction, a.Today.BeforeEviction)
	require.GreaterOrEqual(t, a.Best.Rate, a.Today.Rate)
	slow := Score{Settings: a.Today.Settings, PodHoursLost: a.Today.PodHoursLost, BeforeEviction: a.Today.BeforeEviction * 2, EvictedWhileRunning: a.Today.EvictedWhileRunning / 2}
	require.False(t, slow.beats(&a.Today), "as many pod-hours lost, and fewer evicted while they run, but later")
	little := a.Today
	little.EvictedWhileRunning *= 0.997
	require.False(t, little.beats(&a.Today), "0 % fewer is no advice")
}
