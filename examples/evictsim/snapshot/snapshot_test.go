package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/evictsim/snapshot"
	"github.com/evictkit/evictkit/examples/objects"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// served is a client whose lists come in pages of that size. The second page of pods has expired.
func served(t *testing.T, size int, all []runtime.Object) *fake.Clientset {
	client := fake.NewClientset(all...)
	expired := false
	client.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		list := action.(clienttesting.ListActionImpl)
		require.EqualValues(t, snapshot.PageSize, list.ListOptions.Limit)
		from := 0
		if token := list.ListOptions.Continue; token != "" {
			var err error
			from, err = strconv.Atoi(token)
			require.NoError(t, err)
		}
		if list.GetResource().Resource == "pods" && from == size && !expired {
			expired = true
			gone := apierrors.NewResourceExpired("the token is too old")
			gone.ErrStatus.Continue = "0" + list.ListOptions.Continue
			return true, nil, gone
		}
		found, err := client.Tracker().List(list.GetResource(), list.GetKind(), "")
		require.NoError(t, err)
		items, err := meta.ExtractList(found)
		require.NoError(t, err)
		until := min(from+size, len(items))
		require.NoError(t, meta.SetList(found, items[from:until]))
		if until < len(items) {
			found.(metav1.ListInterface).SetContinue(strconv.Itoa(until))
		}
		return true, found, nil
	})
	return client
}

// play returns the timeline and the report of a lost zone.
func play(t *testing.T, objects simulation.Scenario) (lines []string, report *simulation.Report) {
	s, err := scenariofile.Parse("f", []byte(`
events:
- {at: 2m, fail: {zone: "r:z0", count: 3}}
- {at: 3m, taint: {node: n4, key: maintenance, value: now, effect: NoExecute}}
- {at: 20m, recover: {zone: "r:z0"}}
- {at: 25m, drain: {node: n1, bare: evict}}
reschedule: {after: 5s}
until: 40m
`))
	require.NoError(t, err)
	played, _ := s.Simulation(context.Background(), nil)
	played.Nodes, played.Pods, played.Objects = objects.Nodes, objects.Pods, objects.Objects
	played.Timeline = func(l timeline.Line) error {
		lines = append(lines, fmt.Sprint(l))
		return nil
	}
	report, err = simulation.Play(context.Background(), played)
	require.NoError(t, err)
	return lines, report
}

// A snapshot that is read back is the original cluster.
func TestASnapshotIsTheCluster(t *testing.T) {
	all := cluster()
	var direct simulation.Scenario
	var count snapshot.Count
	for _, o := range all {
		o = o.DeepCopyObject()
		switch o := o.(type) {
		case *v1.Node:
			count.Nodes++
			direct.Nodes = append(direct.Nodes, o)
			continue
		case *v1.Pod:
			count.Pods++
			direct.Pods = append(direct.Pods, o)
			continue
		case *policyv1.PodDisruptionBudget:
			count.Budgets++
		case *v1.PersistentVolume:
			count.Volumes++
		case *v1.PersistentVolumeClaim:
			count.Claims++
		case *batchv1.Job:
			count.Jobs++
		case *appsv1.StatefulSet:
			count.Sets++
		}
		direct.Objects = append(direct.Objects, o)
	}
	var text bytes.Buffer
	written, err := snapshot.Write(context.Background(), served(t, 4, all), &text)
	require.NoError(t, err)
	require.Equal(t, count, written)
	require.NotContains(t, text.String(), secret)

	path := filepath.Join(t.TempDir(), "cluster.json")
	require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))
	sameObjects(t, all, &text)
	back, left, err := scenariofile.Objects(context.Background(), []string{path})
	require.NoError(t, err)
	require.Equal(t, scenariofile.Left{}, left)

	wantLines, want := play(t, direct)
	gotLines, got := play(t, back)
	require.Greater(t, want.Evicted, 15)
	require.Greater(t, want.ReturnedPods, 5)
	require.Positive(t, want.Waiting)
	require.NotEmpty(t, want.Budgets)
	require.Len(t, want.FailedJobs, 1)
	require.Len(t, want.NotSimulated, 8, "all that the simulator counts and does not play")
	require.Equal(t, wantLines, gotLines)
	require.Equal(t, want, got)
}

// budgetSpec is what scenarios read of a budget.
type budgetSpec struct {
	minAvailable, maxUnavailable *intstr.IntOrString
	selector                     *metav1.LabelSelector
	policy                       string
}

// sameObjects compares what any scenario could depend on.
func sameObjects(t *testing.T, all []runtime.Object, text io.Reader) {
	pods, nodes, budgets := map[string]*v1.Pod{}, map[string]*v1.Node{}, map[string]budgetSpec{}
	sets := map[string]appsv1.StatefulSetSpec{}
	_, err := objects.Stream(text, "f", func(o runtime.Object) error {
		switch o := o.(type) {
		case *v1.Pod:
			pods[o.Name] = o
		case *v1.Node:
			nodes[o.Name] = o
		case *appsv1.StatefulSet:
			sets[o.Name] = o.Spec
		case *policyv1beta1.PodDisruptionBudget:
			budgets[o.Name] = budgetSpec{o.Spec.MinAvailable, o.Spec.MaxUnavailable, o.Spec.Selector, fmt.Sprint(ptr.Deref(o.Spec.UnhealthyPodEvictionPolicy, ""))}
		}
		return nil
	})
	require.NoError(t, err)
	equal := func(want, got any, name string) {
		require.True(t, equality.Semantic.DeepEqual(want, got), "%s: %v is not %v", name, got, want)
	}
	for _, o := range all {
		switch o := o.(type) {
		case *v1.Node:
			got := nodes[o.Name]
			equal(o.UID, got.UID, o.Name)
			equal(o.Labels, got.Labels, o.Name)
			equal(o.Spec.Taints, got.Spec.Taints, o.Name)
			equal(o.CreationTimestamp, got.CreationTimestamp, o.Name)
		case *appsv1.StatefulSet:
			require.Equal(t, appsv1.StatefulSetSpec{PodManagementPolicy: o.Spec.PodManagementPolicy, Ordinals: o.Spec.Ordinals}, sets[o.Name])
		case *policyv1.PodDisruptionBudget:
			require.Equal(t, budgetSpec{o.Spec.MinAvailable, o.Spec.MaxUnavailable, o.Spec.Selector, fmt.Sprint(ptr.Deref(o.Spec.UnhealthyPodEvictionPolicy, ""))}, budgets[o.Name])
		case *v1.Pod:
			got := pods[o.Name]
			equal(o.UID, got.UID, o.Name)
			equal(o.Labels, got.Labels, o.Name)
			equal(o.OwnerReferences, got.OwnerReferences, o.Name)
			equal(o.CreationTimestamp, got.CreationTimestamp, o.Name)
			for name, of := range map[string]func(*v1.PodSpec) any{
				"overhead": func(s *v1.PodSpec) any { return s.Overhead }, "nodeSelector": func(s *v1.PodSpec) any { return s.NodeSelector },
				"tolerations": func(s *v1.PodSpec) any { return s.Tolerations }, "affinity": func(s *v1.PodSpec) any { return s.Affinity },
				"resources": func(s *v1.PodSpec) any { return s.Resources }, "claims": func(s *v1.PodSpec) any { return s.ResourceClaims },
				"requests": func(s *v1.PodSpec) any { return s.Containers[0].Resources },
				"init containers": func(s *v1.PodSpec) any {
					for i := range s.InitContainers {
						s.InitContainers[i].Image = ""
					}
					return s.InitContainers
				},
			} {
				equal(of(o.Spec.DeepCopy()), of(&got.Spec), o.Name+" "+name)
			}
		}
	}
}

// The ClusterRole allows exactly what is requested.
func TestTheClusterRoleIsWhatASnapshotNeeds(t *testing.T) {
	var role rbacv1.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict([]byte(snapshot.ClusterRole), &role))
	granted := map[string]bool{}
	for _, rule := range role.Rules {
		require.Empty(t, rule.NonResourceURLs)
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted[verb+" "+group+"/"+resource] = true
				}
			}
		}
	}
	client := fake.NewClientset()
	_, err := snapshot.Write(context.Background(), client, &bytes.Buffer{})
	require.NoError(t, err)
	used := map[string]bool{}
	for _, action := range client.Actions() {
		require.Empty(t, action.GetNamespace())
		used[action.GetVerb()+" "+action.GetResource().Group+"/"+action.GetResource().Resource] = true
	}
	require.Equal(t, used, granted)
}

func TestWhatCannotBeListedIsNamed(t *testing.T) {
	for _, resource := range []string{"nodes", "poddisruptionbudgets", "persistentvolumes", "persistentvolumeclaims", "jobs", "statefulsets", "pods"} {
		client := fake.NewClientset()
		refused := apierrors.NewForbidden(v1.Resource(resource), "", errors.New("not you"))
		client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
		_, err := snapshot.Write(context.Background(), client, &bytes.Buffer{})
		require.ErrorIs(t, err, refused)
		require.ErrorContains(t, err, "list "+resource+": ")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWhatCannotBeWrittenIsTold(t *testing.T) {
	_, err := snapshot.Write(context.Background(), fake.NewClientset(cluster()...), full{})
	require.ErrorContains(t, err, "no space left")
}
