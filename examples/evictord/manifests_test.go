package main

import (
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// rendered is the result of an overlay.
type rendered struct {
	roles      []rbacv1.Role // and ClusterRoles, which have no namespace
	bindings   []rbacv1.RoleBinding
	accounts   []v1.ServiceAccount
	configMaps []v1.ConfigMap
	budget     policyv1.PodDisruptionBudget
	networks   []networkingv1.NetworkPolicy
	monitoring map[string]map[string]string // the labels of what the Prometheus operator reads, by kind
	others     []string                     // kinds
	deployment appsv1.Deployment
}

// overlays returns the names of all overlays.
func overlays(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("manifests/overlays/*")
	require.NoError(t, err)
	for i, path := range found {
		found[i] = filepath.Base(path)
	}
	require.Equal(t, []string{"dry-run", "eviction-api", "take-over"}, found)
	return found
}

// render builds a directory as kustomize does, and decodes the result strictly.
func render(t *testing.T, files filesys.FileSystem, dir string) (r rendered) {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, dir)
	require.NoError(t, err)
	read := func(text []byte, into any) { require.NoError(t, yaml.UnmarshalStrict(text, into), string(text)) }
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		require.NoError(t, err)
		switch resource.GetKind() {
		case "Role", "ClusterRole":
			r.roles = append(r.roles, rbacv1.Role{})
			read(text, &r.roles[len(r.roles)-1])
		case "RoleBinding", "ClusterRoleBinding":
			r.bindings = append(r.bindings, rbacv1.RoleBinding{})
			read(text, &r.bindings[len(r.bindings)-1])
		case "ServiceAccount":
			r.accounts = append(r.accounts, v1.ServiceAccount{})
			read(text, &r.accounts[len(r.accounts)-1])
		case "ConfigMap":
			r.configMaps = append(r.configMaps, v1.ConfigMap{})
			read(text, &r.configMaps[len(r.configMaps)-1])
		case "PodDisruptionBudget":
			read(text, &r.budget)
		case "Deployment":
			read(text, &r.deployment)
		case "NetworkPolicy":
			r.networks = append(r.networks, networkingv1.NetworkPolicy{})
			read(text, &r.networks[len(r.networks)-1])
		case "PodMonitor", "ServiceMonitor", "PrometheusRule": // internal/conformance/alerts looks at the rest
			if r.monitoring == nil {
				r.monitoring = map[string]map[string]string{}
			}
			r.monitoring[resource.GetKind()] = resource.GetLabels()
		case "Secret", "Service":
			r.others = append(r.others, resource.GetKind())
		default:
			require.Fail(t, "nobody looks at it", resource.GetKind())
		}
	}
	return r
}

func renderOverlay(t *testing.T, name string) rendered {
	t.Helper()
	return render(t, filesys.MakeFsOnDisk(), filepath.Join("manifests", "overlays", name))
}

func (r *rendered) options(t *testing.T) options {
	t.Helper()
	o, err := parse(r.deployment.Spec.Template.Spec.Containers[0].Args, io.Discard)
	require.NoError(t, err)
	return o
}

// given returns what the roles allow.
func (r *rendered) given() (all []string) {
	for _, role := range r.roles {
		for _, rule := range role.Rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						p := clientgo.Permission{Verb: verb, Group: rule.APIGroups[0], Namespace: role.Namespace, Name: name}
						p.Resource, p.Subresource, _ = strings.Cut(resource, "/")
						all = append(all, p.String())
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestTheManifestsGiveWhatIsNeededAndNoMore for the flags of each overlay's Deployment.
func TestTheManifestsGiveWhatIsNeededAndNoMore(t *testing.T) {
	for _, name := range overlays(t) {
		r := renderOverlay(t, name)
		o := r.options(t)
		var want []string
		for _, p := range needed(&o, watching(&o, slog.Default())) {
			want = append(want, p.String())
		}
		slices.Sort(want)
		require.Equal(t, want, r.given(), name)
		account := r.deployment.Spec.Template.Spec.ServiceAccountName
		require.Len(t, r.accounts, 1)
		require.Equal(t, account, r.accounts[0].Name)
		require.Len(t, r.bindings, len(r.roles))
		for i, binding := range r.bindings {
			require.Equal(t, r.roles[i].Kind+"/"+r.roles[i].Namespace+"/"+r.roles[i].Name, binding.RoleRef.Kind+"/"+binding.Namespace+"/"+binding.RoleRef.Name)
			require.Equal(t, []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: r.deployment.Namespace}}, binding.Subjects)
		}
	}
}

// TestEachOverlayHasItsMode: the flags are those of the mode.
func TestEachOverlayHasItsMode(t *testing.T) {
	type mode struct {
		dryRun, elects, evictionAPI bool
		replicas                    int32
	}
	for name, want := range map[string]mode{
		"dry-run":      {dryRun: true, replicas: 1},
		"eviction-api": {elects: true, evictionAPI: true, replicas: 2},
		"take-over":    {elects: true, replicas: 2},
	} {
		r := renderOverlay(t, name)
		o := r.options(t)
		require.Equal(t, want, mode{o.dryRun, o.leader.elect, o.evictionAPI, *r.deployment.Spec.Replicas}, name)
	}
}

// TestApplyingTheManifestsChangesNoBrake: what has no data is left alone by kubectl apply, and what has this annotation by
// Flux, which takes away what kubectl has written.
func TestApplyingTheManifestsChangesNoBrake(t *testing.T) {
	for _, name := range overlays(t) {
		r := renderOverlay(t, name)
		require.Len(t, r.configMaps, 1)
		made := r.configMaps[0]
		require.Equal(t, made.Namespace+"/"+made.Name, r.options(t).brakes)
		require.Nil(t, made.Data)
		require.Equal(t, map[string]string{"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}, made.Annotations)
	}
}

// TestReplicasAreApart: the scheduler must keep them apart, and a drain evicts one at a time.
func TestReplicasAreApart(t *testing.T) {
	for _, name := range overlays(t) {
		r := renderOverlay(t, name)
		pods := &metav1.LabelSelector{MatchLabels: r.deployment.Spec.Template.Labels}
		require.Equal(t, pods, r.deployment.Spec.Selector)
		spread := r.deployment.Spec.Template.Spec.TopologySpreadConstraints
		require.Equal(t, v1.LabelHostname, spread[0].TopologyKey)
		require.Equal(t, v1.DoNotSchedule, spread[0].WhenUnsatisfiable)
		require.EqualValues(t, 1, spread[0].MaxSkew)
		require.EqualValues(t, 2, *spread[0].MinDomains, "with one node that is fit the second waits")
		for _, one := range spread {
			require.Equal(t, pods, one.LabelSelector)
			require.Equal(t, []string{appsv1.DefaultDeploymentUniqueLabelKey}, one.MatchLabelKeys, "the replicas of an update do not count those that go")
		}
		require.Equal(t, pods, r.budget.Spec.Selector)
		require.Equal(t, r.deployment.Namespace, r.budget.Namespace)
		require.EqualValues(t, 1, r.budget.Spec.MaxUnavailable.IntValue())
	}
}

// TestItStartsWhereEveryNodeIsNew: it tolerates the taint with which nodes are created, which only a leader lifts. It
// tolerates no taint of a dead node, so that a replica is not bound to one.
func TestItStartsWhereEveryNodeIsNew(t *testing.T) {
	for _, name := range overlays(t) {
		pod := renderOverlay(t, name).deployment.Spec.Template.Spec
		tolerated := func(key string, effect v1.TaintEffect) bool {
			return slices.ContainsFunc(pod.Tolerations, func(one v1.Toleration) bool {
				return one.Key == key && one.Operator == v1.TolerationOpExists && (one.Effect == "" || one.Effect == effect)
			})
		}
		require.True(t, tolerated(v1.TaintNodeNotReady, v1.TaintEffectNoSchedule), name)
		require.False(t, tolerated(v1.TaintNodeNotReady, v1.TaintEffectNoExecute), name)
		require.False(t, tolerated(v1.TaintNodeUnreachable, v1.TaintEffectNoSchedule), name)
	}
	_, section, _ := strings.Cut(readme(t), "\n## When the leader is lost\n")
	section, _, _ = strings.Cut(section, "\n## ")
	require.Contains(t, section, "While nobody leads, new nodes stay unschedulable.")
}

// TestAProbeHasTime to be answered by a process that is short of CPU: a restart would not help it.
func TestAProbeHasTime(t *testing.T) {
	for _, name := range overlays(t) {
		container := renderOverlay(t, name).deployment.Spec.Template.Spec.Containers[0]
		for _, probe := range []*v1.Probe{container.LivenessProbe, container.ReadinessProbe} {
			require.EqualValues(t, 5, probe.TimeoutSeconds, name)
		}
	}
}

// TestOnlyPrometheusReachesTheMetrics: the overlays let nobody in, and monitoring lets Prometheus in.
func TestOnlyPrometheusReachesTheMetrics(t *testing.T) {
	for _, name := range overlays(t) {
		r := renderOverlay(t, name)
		require.Len(t, r.networks, 1)
		require.Equal(t, r.deployment.Namespace, r.networks[0].Namespace)
		require.Equal(t, networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: r.deployment.Spec.Template.Labels}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		}, r.networks[0].Spec)
		in := render(t, filesys.MakeFsOnDisk(), "manifests/monitoring").networks
		require.Len(t, in, 1)
		require.Equal(t, r.networks[0].Spec.PodSelector, in[0].Spec.PodSelector)
		require.Equal(t, r.deployment.Spec.Template.Spec.Containers[0].Ports[0].Name, in[0].Spec.Ingress[0].Ports[0].Port.StrVal)
	}
}

// TestPrometheusFindsTheRules and the monitor by the label that kube-prometheus-stack selects them by: that of its release,
// also if that has another name than the manifests say.
func TestPrometheusFindsTheRules(t *testing.T) {
	stock := render(t, filesys.MakeFsOnDisk(), "manifests/monitoring").monitoring
	other := madeOf(t, optional(t), map[string]string{"budget.yaml": "bounds: []"}).monitoring
	for release, found := range map[string]map[string]map[string]string{"kube-prometheus-stack": stock, "RELEASE": other} {
		selects := labels.SelectorFromSet(labels.Set{"release": release})
		for _, kind := range []string{"PodMonitor", "PrometheusRule"} {
			require.True(t, selects.Matches(labels.Set(found[kind])), "%s: %v", kind, found[kind])
		}
	}
}

// TestNoTokenLivesForEver with the component for it: there is neither the account nor its Secret, and Prometheus finds the pods by
// a Service.
func TestNoTokenLivesForEver(t *testing.T) {
	usual := render(t, filesys.MakeFsOnDisk(), "manifests/monitoring")
	require.Equal(t, []string{"Secret"}, usual.others)
	own := madeOf(t, "resources: [evictkit/examples/evictord/manifests/monitoring]\ncomponents: [evictkit/examples/evictord/manifests/own-token]\n", nil)
	require.Equal(t, []string{"Service"}, own.others)
	require.Empty(t, own.accounts)
	require.Empty(t, own.roles)
	require.Empty(t, own.bindings)
	require.NotContains(t, own.monitoring, "PodMonitor")
	require.Equal(t, usual.monitoring["PodMonitor"], own.monitoring["ServiceMonitor"], "it is found by the same label")
}

// TestTheComponentZonesInsists on different zones: where the overlays prefer them it demands them, of the zones that have
// nodes without taints. With one zone both run there.
func TestTheComponentZonesInsists(t *testing.T) {
	for _, name := range overlays(t) {
		want := renderOverlay(t, name)
		honor := v1.NodeInclusionPolicyHonor
		zones := &want.deployment.Spec.Template.Spec.TopologySpreadConstraints[1]
		require.Equal(t, v1.LabelTopologyZone, zones.TopologyKey)
		require.Equal(t, v1.ScheduleAnyway, zones.WhenUnsatisfiable, "nodes need no label")
		require.Nil(t, zones.MinDomains)
		zones.WhenUnsatisfiable, zones.NodeTaintsPolicy = v1.DoNotSchedule, &honor
		require.Equal(t, want, madeOf(t, "resources: [evictkit/examples/evictord/manifests/overlays/"+name+"]\ncomponents: [evictkit/examples/evictord/manifests/zones]\n", nil))
	}
}

// TestAnUpdateTakesNoReplicaAway before a new one is ready: the Deployment has the default strategy, and a quarter of
// its replicas, rounded down, is none.
func TestAnUpdateTakesNoReplicaAway(t *testing.T) {
	for _, name := range overlays(t) {
		spec := renderOverlay(t, name).deployment.Spec
		require.Zero(t, spec.Strategy, "RollingUpdate with 25 % of the replicas unavailable at most")
		require.Less(t, *spec.Replicas, int32(4))
	}
}

var byDigest = regexp.MustCompile(`^[a-z./-]+@sha256:[0-9a-f]{64}$`)

// TestNoImageMoves: a tag may be another image tomorrow, and no tag means latest.
func TestNoImageMoves(t *testing.T) {
	for _, name := range overlays(t) {
		for _, container := range renderOverlay(t, name).deployment.Spec.Template.Spec.Containers {
			require.Regexp(t, byDigest, container.Image)
		}
	}
}

// TestNoBaseImageMoves either: without a digest, the reference is none and the build fails. The page says how to give each.
func TestNoBaseImageMoves(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	from := regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)@\$\{([A-Z_]+)\}(?: AS build)?$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, from, 2)
	require.Equal(t, 2, strings.Count("\n"+string(text), "\nFROM "))
	for _, one := range from {
		require.Contains(t, string(text), "\nARG "+one[2]+"\n", "it has no default")
		require.Contains(t, readme(t), "docker buildx imagetools inspect "+one[1]+" ")
		require.Contains(t, readme(t), "--build-arg "+one[2]+"=")
	}
}

// TestTheImageIsBuiltFromWhatItNeeds: .dockerignore leaves out no file of any package of the controller, and leaves out
// what changes without it.
func TestTheImageIsBuiltFromWhatItNeeds(t *testing.T) {
	text, err := os.ReadFile("../../.dockerignore")
	require.NoError(t, err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	left := func(file string) bool {
		for _, pattern := range strings.Fields(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(string(text), "")) {
			anywhere, within := strings.CutPrefix(pattern, "**/")
			for part := file; part != "."; part = filepath.Dir(part) {
				if matched, err := filepath.Match(anywhere, filepath.Base(part)); within && (matched || err != nil) || part == pattern {
					return false
				}
			}
		}
		return true
	}
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`, ".")
	needed, err := command.Output()
	require.NoError(t, err)
	files := []string{"go.mod", "examples/go.mod", "examples/go.sum", "evictor/clientgo/go.mod", "evictor/compat/go.mod", "evictor/manager/go.mod"}
	for _, file := range strings.Fields(string(needed)) {
		if inside, ok := strings.CutPrefix(file, root+"/"); ok {
			files = append(files, inside)
		}
	}
	require.Contains(t, files, "examples/evictord/main.go")
	for _, file := range files {
		require.True(t, left(file), file)
	}
	for _, file := range []string{".git/HEAD", "internal/conformance/go.mod", "examples/evictord/main_test.go", "README.md", "examples/evictsim/testdata/spot.yaml"} {
		require.False(t, left(file), file)
	}
}
