package noderecord

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// TestTrim: a record has what decides, and nothing that may be secret.
func TestTrim(t *testing.T) {
	var pod v1.Pod
	require.NoError(t, json.Unmarshal([]byte(`{
		"metadata":{"namespace":"shop","name":"cart","uid":"uid-1","labels":{"secret":"secret"},"annotations":{"kubernetes.io/config.source":"file","kubernetes.io/config.mirror":"hash","secret":"secret"}},
		"spec":{"priority":7,"terminationGracePeriodSeconds":5,"nodeName":"secret","serviceAccountName":"secret","tolerations":[{"operator":"Exists"}],
			"overhead":{"memory":"1Mi"},"resources":{"requests":{"memory":"9Mi"}},
			"containers":[{"name":"main","image":"secret","command":["secret"],"env":[{"name":"secret"}],"resources":{"requests":{"memory":"2Mi"}}}],
			"initContainers":[{"name":"sidecar","image":"secret","restartPolicy":"Always","resources":{"limits":{"memory":"3Mi"}}}],
			"volumes":[{"name":"scratch","emptyDir":{"sizeLimit":"4Mi"}},{"name":"host","hostPath":{"path":"secret"}},{"name":"config","configMap":{"name":"secret"}},
				{"name":"git","gitRepo":{"repository":"secret"}},{"name":"other","secret":{"secretName":"secret"}}]}}`), &pod))
	text, err := json.Marshal(Trim(&pod))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"metadata":{"namespace":"shop","name":"cart","uid":"uid-1","annotations":{"kubernetes.io/config.source":"file","kubernetes.io/config.mirror":"hash"}},
		"spec":{"priority":7,"terminationGracePeriodSeconds":5,"tolerations":[{"operator":"Exists"}],
			"overhead":{"memory":"1Mi"},"resources":{"requests":{"memory":"9Mi"}},
			"containers":[{"name":"main","resources":{"requests":{"memory":"2Mi"}}}],
			"initContainers":[{"name":"sidecar","restartPolicy":"Always","resources":{"limits":{"memory":"3Mi"}}}],
			"volumes":[{"name":"scratch","emptyDir":{"sizeLimit":"4Mi"}},{"name":"host","hostPath":{"path":""}},{"name":"config","configMap":{}},{"name":"git","gitRepo":{"repository":""}},{"name":"other"}]},
		"status":{}}`, string(text))
}
