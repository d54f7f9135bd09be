package slim

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// wire is what is decoded from what an API server sends.
type wire interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// usual are objects with what they have in most clusters, by their kind: a node that has pulled 50 images, a pod of one container
// with ten variables, a lease.
var usual = map[string]func(i int) (whole, empty wire){
	"nodes": func(i int) (wire, wire) {
		n := &v1.Node{ObjectMeta: described("", fmt.Sprintf("ip-10-0-%d-%d.region.compute.internal", i/256, i%256))}
		n.Labels = map[string]string{
			v1.LabelTopologyZone: fmt.Sprint("region-", i%3), v1.LabelTopologyRegion: "region", v1.LabelHostname: n.Name, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
			v1.LabelInstanceTypeStable: "large", "example.com/pool": fmt.Sprint("pool-", i%10),
		}
		for image := range 50 {
			n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{fmt.Sprintf("registry.example/team/image-%d@sha256:%064d", image, i)}, SizeBytes: 1 << 28})
		}
		for _, kind := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeReady} {
			n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: kind, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()})
		}
		return n, &v1.Node{}
	},
	"pods": func(i int) (wire, wire) {
		p := &v1.Pod{ObjectMeta: described(fmt.Sprint("namespace-", i%100), fmt.Sprintf("web-%d-5d4f8c7b9-%05d", i%100, i))}
		p.Labels = map[string]string{"app": fmt.Sprint("web-", i%100), "pod-template-hash": "5d4f8c7b9"}
		seconds := int64(300)
		p.Spec.NodeName = fmt.Sprintf("ip-10-0-%d-%d.region.compute.internal", i/30/256, i/30%256)
		p.Spec.Tolerations = []v1.Toleration{
			{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		}
		p.Spec.Containers = []v1.Container{{Name: "main", Image: fmt.Sprintf("registry.example/team/web@sha256:%064d", i)}}
		for e := range 10 {
			p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, v1.EnvVar{Name: fmt.Sprint("VARIABLE_", e), Value: fmt.Sprintf("%060d", i)})
		}
		p.Status.Phase = v1.PodRunning
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", Image: "none", ImageID: fmt.Sprintf("sha256:%064d", i), Ready: true}}
		for _, kind := range []v1.PodConditionType{v1.PodInitialized, v1.PodScheduled, v1.ContainersReady, v1.PodReady} {
			p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now()})
		}
		return p, &v1.Pod{}
	},
	"leases": func(i int) (wire, wire) {
		name, seconds, now := fmt.Sprintf("ip-10-0-%d-%d.region.compute.internal", i/256, i%256), int32(40), metav1.NowMicro()
		l := &coordinationv1.Lease{ObjectMeta: described(v1.NamespaceNodeLease, name)}
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: "00000000-0000-4000-8000-000000000000"}}
		l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now}
		return l, &coordinationv1.Lease{}
	},
}

// described is the metadata of a usual object, with managed fields of the usual size.
func described(namespace, name string) metav1.ObjectMeta {
	fields := &metav1.FieldsV1{Raw: []byte(`{"f:status":{"f:conditions":"` + strings.Repeat("x", 1000) + `"}}`)}
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", len(name))), ResourceVersion: "100000000", CreationTimestamp: metav1.Now(),
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: fields}},
	}
}

// kept is how many bytes each of so many decoded objects takes, as the transform function leaves it.
func kept(t testing.TB, n int, object func(i int) (wire, wire), transform func(any) any) float64 {
	t.Helper()
	objects := []any{}
	before := steadyHeap()
	for i := range n {
		whole, decoded := object(i)
		raw, err := whole.Marshal()
		require.NoError(t, err)
		require.NoError(t, decoded.Unmarshal(raw))
		objects = append(objects, transform(decoded))
	}
	took := float64(steadyHeap()-before) / float64(n)
	runtime.KeepAlive(objects)
	return took
}

// TestSlimSavesMostOfTheBytes that the cache of a manager would keep of each. It measures in a process of its own: what tests before
// have left may be given back at any time.
func TestSlimSavesMostOfTheBytes(t *testing.T) {
	const alone = "EVICTKIT_ALONE"
	if os.Getenv(alone) == "" {
		measure := exec.Command(os.Args[0], "-test.run=^TestSlimSavesMostOfTheBytes$", "-test.v")
		measure.Env = append(os.Environ(), alone+"=1")
		out, err := measure.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "times less")
		t.Logf("%s", out)
		return
	}
	for kind, least := range map[string]float64{"nodes": 4, "pods": 2, "leases": 2} {
		whole := kept(t, 1000, usual[kind], func(obj any) any { return obj })
		small := kept(t, 1000, usual[kind], Keep{}.Object)
		t.Logf("%s: %.0f bytes of %.0f, %.1f times less", kind, small, whole, whole/small)
		require.Greater(t, whole/small, least, kind)
	}
}
