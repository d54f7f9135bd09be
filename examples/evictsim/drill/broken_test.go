package drill

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
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
		p.Spec.NodeName, p.Spec.RestartPolicy = node, v1.RestartPolicyNever
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

// broken loses zone a for an hour.
func (s small) broken(t *testing.T) *Broken {
	t.Helper()
	c := s.open(t)
	losses, err := c.Losses(nil, time.Hour)
	require.NoError(t, err)
	r, err := c.Play(t.Context(), losses[0])
	require.NoError(t, err)
	b, err := c.Break(t.Context(), r, func() {})
	require.NoError(t, err)
	return b
}

func cpus(amount string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(amount)}}}}
	}
}

func spread(change func(*v1.TopologySpreadConstraint)) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "w"}},
		}}
		change(&p.Spec.TopologySpreadConstraints[0])
	}
}

func countsTaintedNodes(*v1.TopologySpreadConstraint) {}

// apart keeps two pods from one node.
func apart(p *v1.Pod) {
	term := v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "w"}}}
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
}

func job(limit int32) []any {
	j := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}}
	j.Namespace, j.Name, j.Spec.BackoffLimit = "shop", "w", &limit
	return []any{j}
}

// set is a StatefulSet of so many pods.
func set(pods int32) []any {
	s := &appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}}
	s.Namespace, s.Name, s.Spec.Replicas = "shop", "w", &pods
	return []any{s}
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

// Each cause is what the simulation's scheduler, or a Job's controller, really said. Each remedy was played, and the first is the best.
func TestWhyAWorkloadSuffersAndWhatHelps(t *testing.T) {
	three, two, each := []string{"a", "b", "c"}, []string{"a", "b"}, []string{"a0", "a1", "b0", "b1", "c0", "c1"}
	for name, test := range map[string]struct {
		small
		because, refused string
		remedies         []string
		halves           bool // whether the first halves the pod-hours missing
	}{
		"hard spread": {
			small: small{three, "ReplicaSet", each, spread(countsTaintedNodes), nil}, because: "topologySpreadConstraints still count the lost nodes",
			refused: "0/6 nodes: 4 topology spread, 2 not Ready", halves: true,
			remedies: []string{"nodeTaintsPolicy: Honor", "maxSkew: 3", "whenUnsatisfiable: ScheduleAnyway"},
		},
		"hard spread over at least three zones": {
			small: small{three, "ReplicaSet", each, spread(func(c *v1.TopologySpreadConstraint) {
				least, honor := int32(3), v1.NodeInclusionPolicyHonor
				c.MinDomains, c.NodeTaintsPolicy = &least, &honor
			}), nil}, because: "topologySpreadConstraints still count the lost nodes",
			refused: "0/6 nodes: 4 topology spread, 2 not Ready", halves: true,
			remedies: []string{"nodeTaintsPolicy: Honor, without minDomains", "maxSkew: 3", "whenUnsatisfiable: ScheduleAnyway"},
		},
		"no room": {
			small: small{three, "ReplicaSet", each, cpus("3"), nil}, because: "there is no room for the pods elsewhere (cpu)",
			refused: "0/6 nodes: 4 cpu, 2 not Ready", remedies: []string{"2 more nodes like a0 elsewhere"}, halves: true,
		},
		"room for one": {
			small: small{three, "ReplicaSet", []string{"a0", "b0", "b1", "c0", "c1"}, cpus("3"), nil}, because: "there is no room for the pods elsewhere (cpu)",
			refused: "0/6 nodes: 4 cpu, 2 not Ready", remedies: []string{"1 more node like a0 elsewhere"}, halves: true,
		},
		"a Job that allows no failure": {
			small: small{three, "Job", each, nil, job(0)}, because: "evicted pods count as failed, and more of them than backoffLimit end the Job",
			remedies: []string{"backoffLimit: 2", "podFailurePolicy that ignores disruptions, and out-of-service taint if surely off", "podFailurePolicy that ignores disruptions"}, halves: true,
		},
		"a Job that goes on": {
			small: small{three, "Job", []string{"a0", "a1", "b0"}, nil, job(6)}, because: "pods wait for their tolerationSeconds",
			remedies: []string{"tolerationSeconds: 60"}, halves: true,
		},
		"a selector": {
			small:   small{three, "ReplicaSet", []string{"a0", "a1"}, func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "a"} }, nil},
			because: "node selectors or node affinity leave no node", refused: "0/6 nodes: 4 selector, 2 not Ready",
			remedies: []string{"a node selector and node affinity that other nodes match"}, halves: true,
		},
		"a host port": {
			small: small{three, "ReplicaSet", each, func(p *v1.Pod) {
				p.Spec.Containers = []v1.Container{{Name: "c", Ports: []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}}}}
			}, nil},
			because: "host ports are taken on the other nodes", refused: "0/6 nodes: 4 host port, 2 not Ready",
			remedies: []string{"a Service in place of the host ports", "2 more nodes like a0 elsewhere"}, halves: true,
		},
		"stuck": {
			small: small{three, "StatefulSet", each, nil, nil}, because: "pods are stuck until their nodes are back, or are tainted out of service",
			remedies: []string{"out-of-service taint after 5m, if the machines are surely off"}, halves: true,
		},
		"stuck, with a volume in the lost zone": {
			small: small{three, "StatefulSet", []string{"a0"}, func(p *v1.Pod) {
				p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			}, volume()},
			because: "pods are stuck, and tainting their nodes out of service would not suffice: volumes cannot be reached from the other nodes",
			refused: "0/6 nodes: 4 volume, 2 not Ready", remedies: []string{"volumes that several zones reach, and out-of-service taint if surely off"}, halves: true,
		},
		"anti-affinity": {
			small: small{three, "ReplicaSet", each, apart, nil}, because: "required pod affinity or anti-affinity leaves no node", refused: "0/6 nodes: 4 pod affinity, 2 not Ready",
			remedies: []string{"preferred pod (anti-)affinity in place of the required one", "2 more nodes like a0 elsewhere"}, halves: true,
		},
		"stuck, behind a pod that finds no room": {
			small:   small{three, "StatefulSet", each, cpus("3"), nil},
			because: "pods are stuck, and tainting their nodes out of service would not suffice: there is no room for the pods elsewhere (cpu)",
			refused: "0/6 nodes: 4 cpu, 2 not Ready", remedies: []string{"2 more nodes like a0 elsewhere, and out-of-service taint if surely off"}, halves: true,
		},
		"stuck, the pod between them is not": {
			small:   small{three, "StatefulSet", []string{"a0", "b0", "a1"}, nil, nil},
			because: "pods are stuck until their nodes are back, or are tainted out of service", remedies: []string{"out-of-service taint after 5m, if the machines are surely off"}, halves: true,
		},
		"stuck, behind a pod that is not Ready": {
			small: small{three, "StatefulSet", []string{"b0", "a0", "c0"}, func(p *v1.Pod) {
				if p.Spec.NodeName == "b0" {
					p.Status.Phase, p.Status.Conditions = v1.PodRunning, []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
				}
			}, set(3)},
			because:  "pods are stuck, and tainting their nodes out of service would not suffice: a pod before them in the StatefulSet is not Ready",
			remedies: []string{"podManagementPolicy: Parallel, and out-of-service taint if surely off"}, halves: true,
		},
		"one pod": {
			small: small{three, "ReplicaSet", []string{"a0"}, nil, nil}, because: "there is one pod", remedies: []string{"a second replica elsewhere"},
		},
		"all in a zone": {
			small: small{three, "ReplicaSet", []string{"a0", "a1"}, nil, nil}, because: "half of the pods or more are on the lost nodes, and an even spread would put fewer there",
			remedies: []string{"topologySpreadConstraints over topology.kubernetes.io/zone"}, halves: true,
		},
		"spread over two zones already": {
			small: small{two, "ReplicaSet", each[:4], nil, nil}, because: "pods wait for their tolerationSeconds", remedies: []string{"tolerationSeconds: 60"}, halves: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := test.broken(t)
			require.Len(t, b.Groups, 1)
			g := b.Groups[0]
			require.Equal(t, test.because, g.Cause)
			require.Equal(t, test.refused, g.Refused)
			var names []string
			for i := range g.Remedies {
				m := &g.Remedies[i]
				names = append(names, m.Name)
				require.True(t, len(m.How) > 0 || m.more != nil, m.Name)
				require.True(t, i == 0 || g.Remedies[i-1].compare(&m.Effect) <= 0, names)
			}
			require.Equal(t, test.remedies, names)
			if test.halves {
				require.Less(t, g.Remedies[0].PodHoursMissing, b.PodHoursMissing/2)
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
	today, err := c.Play(t.Context(), losses[0])
	require.NoError(t, err)
	tainted, err := c.play(t.Context(), losses[0], outOfService(&losses[0]))
	require.NoError(t, err)
	require.InDelta(t, today.PodHoursLost, tainted.PodHoursLost, 0.01)
	require.Zero(t, tainted.PendingAtEnd)
}

// Pods that find no node whenever they are evicted do not make it look wise to evict them late.
func TestSettingsAreNotSlowedDownBecausePodsFindNoNode(t *testing.T) {
	c := small{[]string{"a", "b", "c"}, "ReplicaSet", []string{"a0", "a1", "b0", "b1", "c0", "c1"}, spread(countsTaintedNodes), nil}.open(t)
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

// A node without labels is lost with the zone that has no name, and others take its place. Who waits for a node today is no loss's doing.
func TestNodesWithoutLabelsAndPodsWithoutNodes(t *testing.T) {
	bare := &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	bare.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
	waits := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "waits", Namespace: "shop"}}
	cpus("100")(waits)
	b := small{[]string{"b"}, "ReplicaSet", []string{"x", "b0", "b1"}, cpus("3"), []any{bare, waits}}.broken(t)
	require.Equal(t, "zone (no zone)", b.Loss.Name)
	require.Equal(t, 1, b.Effect.MostPending, "the pod of the lost node alone")
	require.NotEmpty(t, b.Groups[0].Remedies)
}
