package controlplane

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// The API server accepts each overlay in a strict dry run, as kubectl apply --server-side makes it. The pods of the
// Deployment satisfy the restricted Pod Security Standard.
func TestTheAPIServerTakesEachOverlay(t *testing.T) {
	c := start(t)
	to, err := c.objects()
	require.NoError(t, err)
	const strictest = "strictest"
	_, err = c.client.CoreV1().Namespaces().Create(c.ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: strictest, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	force, dry := true, []string{metav1.DryRunAll}
	overlays, err := os.ReadDir(manifests)
	require.NoError(t, err)
	require.Len(t, overlays, 3)
	for _, overlay := range overlays {
		rendered, err := render(overlay.Name())
		require.NoError(t, err)
		kinds := map[string]int{}
		for _, object := range rendered {
			kinds[object.GetKind()]++
			resource, err := to.of(object)
			require.NoError(t, err)
			text, err := object.MarshalJSON()
			require.NoError(t, err)
			_, err = resource.Patch(c.ctx, object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{
				DryRun: dry, FieldManager: "kubectl", Force: &force, FieldValidation: metav1.FieldValidationStrict,
			})
			require.NoError(t, err, "%s of %s", object.GetKind(), overlay.Name())
			if object.GetKind() != "Deployment" {
				continue
			}
			var deployment appsv1.Deployment
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &deployment, true))
			pod := &v1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
			pod.Name, pod.Namespace = "one", strictest
			_, err = c.client.CoreV1().Pods(strictest).Create(c.ctx, pod, metav1.CreateOptions{DryRun: dry})
			require.NoError(t, err, overlay.Name())
		}
		require.Equal(t, 1, kinds["Deployment"], overlay.Name())
		require.Equal(t, 1, kinds["PodDisruptionBudget"], overlay.Name())
		require.Equal(t, 1, kinds["ClusterRole"], overlay.Name())
	}
}
