package controlplane

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kubeletprobe "k8s.io/kubernetes/pkg/probe"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
)

// The API server accepts each overlay in a strict dry run, as kubectl apply --server-side makes it. The pods of the
// Deployment satisfy the restricted Pod Security Standard.
func TestTheAPIServerTakesEachOverlay(t *testing.T) {
	c := start(t)
	const strictest = "strictest"
	_, err := c.client.CoreV1().Namespaces().Create(c.ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: strictest, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	overlays, err := os.ReadDir(manifests)
	require.NoError(t, err)
	require.Len(t, overlays, 3)
	for _, overlay := range overlays {
		rendered, err := render(overlay.Name())
		require.NoError(t, err)
		kinds := c.takes(t, rendered)
		for _, object := range rendered {
			if object.GetKind() != "Deployment" {
				continue
			}
			pod := podOf(t, object)
			pod.Name, pod.Namespace = "one", strictest
			_, err = c.client.CoreV1().Pods(strictest).Create(c.ctx, pod, metav1.CreateOptions{DryRun: dry})
			require.NoError(t, err, overlay.Name())
		}
		for _, kind := range []string{"Deployment", "PodDisruptionBudget", "ClusterRole", "NetworkPolicy"} {
			require.Equal(t, 1, kinds[kind], "%s of %s", kind, overlay.Name())
		}
	}
}

// podOf returns the pod that a Deployment makes.
func podOf(t *testing.T, object *unstructured.Unstructured) *v1.Pod {
	t.Helper()
	var deployment appsv1.Deployment
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &deployment, true))
	return &v1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
}

// The kubelet's own prober finds the program alive and ready, by the probes and with the flags of the manifests: over TLS,
// without a token, and whoever signed the certificate.
func TestTheKubeletProbesIt(t *testing.T) {
	c := start(t)
	rendered, err := render("take-over")
	require.NoError(t, err)
	at := slices.IndexFunc(rendered, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Deployment" })
	container := &podOf(t, rendered[at]).Spec.Containers[0]
	address := freeAddress(t)
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	number, err := strconv.ParseInt(port, 10, 32)
	require.NoError(t, err)
	c.process(t, "probed", []string{ours}, c.controller, append(container.Args, "--metrics-address="+address, "--debug-address=")...)
	container.Ports[0].ContainerPort = int32(number)
	for name, probe := range map[string]*v1.Probe{"alive": container.LivenessProbe, "ready": container.ReadinessProbe} {
		request, err := httpprobe.NewRequestForHTTPGetAction(probe.HTTPGet, container, host, "probe")
		require.NoError(t, err, name)
		c.eventually(t, func() bool {
			result, _, err := httpprobe.New(false).Probe(request, time.Duration(probe.TimeoutSeconds)*time.Second)
			return err == nil && result == kubeletprobe.Success
		})
	}
}

// It takes what may be added to an overlay in the same way, but for what only the Prometheus operator knows.
func TestTheAPIServerTakesWhatIsOptional(t *testing.T) {
	c := start(t)
	root, err := filepath.Abs(filepath.Join(manifests, ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(root, filepath.Join(dir, "manifests")))
	for file, text := range map[string]string{
		"budget.yaml": "bounds: []\n",
		"kustomization.yaml": `resources: [manifests/overlays/take-over, manifests/oncall, manifests/monitoring]
components: [manifests/zones, manifests/budget, manifests/own-token]
configMapGenerator: [{name: evictkit-controller-budget, namespace: kube-system, files: [budget.yaml]}]
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	all, err := renderDir(dir)
	require.NoError(t, err)
	usual, err := render(filepath.Join("..", "monitoring"))
	require.NoError(t, err)
	for what, objects := range map[string][]*unstructured.Unstructured{"Service": all, "Secret": usual} {
		kinds := c.takes(t, objects)
		require.Equal(t, 1, kinds[what])
		require.Positive(t, kinds["NetworkPolicy"])
	}
}

var dry = []string{metav1.DryRunAll}

// takes applies the objects in a strict dry run, and counts their kinds.
func (c *cluster) takes(t *testing.T, objects []*unstructured.Unstructured) map[string]int {
	t.Helper()
	to, err := c.objects()
	require.NoError(t, err)
	force, kinds := true, map[string]int{}
	for _, object := range objects {
		if object.GroupVersionKind().Group == "monitoring.coreos.com" {
			continue
		}
		kinds[object.GetKind()]++
		resource, err := to.of(object)
		require.NoError(t, err)
		text, err := object.MarshalJSON()
		require.NoError(t, err)
		_, err = resource.Patch(c.ctx, object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{
			DryRun: dry, FieldManager: "kubectl", Force: &force, FieldValidation: metav1.FieldValidationStrict,
		})
		require.NoError(t, err, "%s %s", object.GetKind(), object.GetName())
	}
	return kinds
}

// People on call may do what the page's commands ask for, and nothing else that this program has.
func TestOnCallMayStopIt(t *testing.T) {
	c := start(t)
	to, err := c.objects()
	require.NoError(t, err)
	rendered, err := render(filepath.Join("..", "oncall"))
	require.NoError(t, err)
	require.Len(t, rendered, 1)
	require.NoError(t, to.create(c.ctx, rendered[0]))
	const group = "oncall"
	_, err = c.client.RbacV1().RoleBindings(metav1.NamespaceSystem).Create(c.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: group}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: rendered[0].GetName()},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	config := rest.CopyConfig(c.plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "somebody", Groups: []string{group}}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)

	const controller = "evictkit-controller"
	core, deployments := client.CoreV1(), client.AppsV1().Deployments(metav1.NamespaceSystem)
	maps := core.ConfigMaps(metav1.NamespaceSystem)
	pull, scale, options := []byte(`{"data":{"all":"a test"}}`), []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{DryRun: dry}
	patch := func(name string) error {
		_, err := maps.Patch(c.ctx, name, types.MergePatchType, pull, options)
		return err
	}
	c.eventually(t, func() bool { return patch(brakesName) == nil }) // the authorizer hears of the binding a moment later
	_, err = maps.Get(c.ctx, brakesName, metav1.GetOptions{})
	require.NoError(t, err)
	_, err = core.Pods(metav1.NamespaceSystem).List(c.ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + controller})
	require.NoError(t, err)
	_, err = core.Pods(metav1.NamespaceSystem).GetLogs("none", &v1.PodLogOptions{}).DoRaw(c.ctx)
	require.True(t, apierrors.IsNotFound(err), "it may read logs, but there is no such pod: %v", err)
	_, err = deployments.Get(c.ctx, controller, metav1.GetOptions{})
	require.NoError(t, err)
	_, err = deployments.Patch(c.ctx, controller, types.MergePatchType, scale, options, "scale")
	require.NoError(t, err)

	_, err = deployments.Patch(c.ctx, controller, types.MergePatchType, scale, options)
	forbidden := []error{patch("extension-apiserver-authentication"), err, maps.Delete(c.ctx, brakesName, metav1.DeleteOptions{DryRun: dry})}
	_, err = core.Secrets(metav1.NamespaceSystem).List(c.ctx, metav1.ListOptions{})
	for _, err := range append(forbidden, err) {
		require.True(t, apierrors.IsForbidden(err), "%v", err)
	}
}
