package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// controller is the directory of the program under test.
const controller = "../../../examples/evictord"

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(controller, name))
	require.NoError(t, err)
	return text
}

// prometheusRule is the manifest. It is decoded strictly, so a field that the operator does not know is an error.
func prometheusRule(t *testing.T) (rule monitoringv1.PrometheusRule) {
	t.Helper()
	require.NoError(t, yaml.UnmarshalStrict(read(t, "manifests/monitoring/rules.yaml"), &rule))
	require.Equal(t, monitoringv1.SchemeGroupVersion.WithKind(monitoringv1.PrometheusRuleKind), rule.GroupVersionKind())
	return rule
}

// alertsOf returns the rules, all of which are alerts.
func alertsOf(t *testing.T) (alerts []monitoringv1.Rule) {
	t.Helper()
	for _, group := range prometheusRule(t).Spec.Groups {
		alerts = append(alerts, group.Rules...)
	}
	require.NotEmpty(t, alerts)
	return alerts
}

// ruleFile returns the rules as the operator gives them to Prometheus.
func ruleFile(t *testing.T) string {
	t.Helper()
	text, err := yaml.Marshal(prometheusRule(t).Spec)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// TestThePodMonitorIsTheirs: the port is the Deployment's, and the job has the name that all queries use.
func TestThePodMonitorIsTheirs(t *testing.T) {
	var monitor monitoringv1.PodMonitor
	require.NoError(t, yaml.UnmarshalStrict(read(t, "manifests/monitoring/podmonitor.yaml"), &monitor))
	require.Equal(t, monitoringv1.SchemeGroupVersion.WithKind(monitoringv1.PodMonitorsKind), monitor.GroupVersionKind())
	var deployment struct {
		Metadata struct{ Namespace string }
		Spec     struct {
			Template struct {
				Metadata struct{ Labels map[string]string }
				Spec     struct {
					Containers []struct{ Ports []struct{ Name string } }
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(read(t, "manifests/base/deployment.yaml"), &deployment))
	pod := deployment.Spec.Template
	require.Equal(t, deployment.Metadata.Namespace, monitor.Namespace)
	require.NotEmpty(t, monitor.Labels["release"])
	require.Equal(t, monitor.Labels, prometheusRule(t).Labels, "Prometheus finds both or none")
	require.Equal(t, pod.Metadata.Labels, monitor.Spec.Selector.MatchLabels)
	require.Len(t, monitor.Spec.PodMetricsEndpoints, 1)
	require.Equal(t, pod.Spec.Containers[0].Ports[0].Name, *monitor.Spec.PodMetricsEndpoints[0].Port)
	require.Equal(t, job, pod.Metadata.Labels[monitor.Spec.JobLabel])
	for _, alert := range alertsOf(t) {
		require.Equal(t, strings.Count(alert.Expr.StrVal, "{"), strings.Count(alert.Expr.StrVal, `{job="`+job+`"`), alert.Alert)
	}
}

// TestTheServiceMonitorFindsTheSamePods, by a Service of the monitor's own job, and differs only in whose token it shows.
func TestTheServiceMonitorFindsTheSamePods(t *testing.T) {
	var pods monitoringv1.PodMonitor
	require.NoError(t, yaml.UnmarshalStrict(read(t, "manifests/monitoring/podmonitor.yaml"), &pods))
	var services monitoringv1.ServiceMonitor
	require.NoError(t, yaml.UnmarshalStrict(read(t, "manifests/own-token/servicemonitor.yaml"), &services))
	require.Equal(t, monitoringv1.SchemeGroupVersion.WithKind(monitoringv1.ServiceMonitorsKind), services.GroupVersionKind())
	var service v1.Service
	require.NoError(t, yaml.UnmarshalStrict(read(t, "manifests/own-token/service.yaml"), &service))
	require.Equal(t, pods.ObjectMeta, services.ObjectMeta)
	require.Equal(t, pods.Spec.Selector.MatchLabels, service.Spec.Selector)
	require.Equal(t, services.Spec.Selector.MatchLabels, service.Labels)
	require.Equal(t, job, service.Labels[services.Spec.JobLabel])
	require.Len(t, services.Spec.Endpoints, 1)
	own, other := services.Spec.Endpoints[0], pods.Spec.PodMetricsEndpoints[0]
	require.Equal(t, *other.Port, own.Port)
	require.Equal(t, *other.Port, service.Spec.Ports[0].Name)
	require.Equal(t, other.Interval, own.Interval)
	require.Equal(t, other.Scheme, own.Scheme)
	require.Equal(t, "/var/run/secrets/kubernetes.io/serviceaccount/token", own.BearerTokenFile) //nolint:staticcheck // it is deprecated, and there is no other for a token that changes
	require.Nil(t, own.Authorization)
}

// panel is a panel of the dashboard with its queries.
type panel struct {
	Title   string
	Targets []struct{ Expr string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	var dashboard struct{ Panels []panel }
	require.NoError(t, json.Unmarshal(read(t, "manifests/monitoring/dashboard.json"), &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	return dashboard.Panels
}
