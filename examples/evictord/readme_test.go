package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

var (
	flagName   = regexp.MustCompile(`--[a-z][a-z-]+`)
	metricName = regexp.MustCompile(`\b(?:evictkit|node_collector|taint_eviction_controller|leader_election|rest_client|process|go)_[a-z_]+`)
	alertName  = regexp.MustCompile(`\bEvictkit[A-Z][A-Za-z]+`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link       = regexp.MustCompile(`\]\(([^)]+)\)`)
)

// others are flags of other programs that the page mentions outside of commands.
var others = []string{"--controllers", "--sync-policy"}

func TestFlagsOfThePageExist(t *testing.T) {
	var help bytes.Buffer
	_, _ = parse([]string{"--help"}, &help)
	known := append(flagName.FindAllString(help.String(), -1), "--help")
	seen := 0
	for _, line := range strings.Split(readme(t), "\n") {
		if command := strings.TrimSpace(line); strings.HasPrefix(command, "kubectl ") || strings.HasPrefix(command, "docker ") || strings.Contains(command, "ko build") || strings.Contains(command, "./evictsim") {
			continue
		}
		for _, name := range flagName.FindAllString(line, -1) {
			if !slices.Contains(others, name) {
				require.Contains(t, known, name)
				seen++
			}
		}
	}
	require.Greater(t, seen, 10)
}

func TestMetricsOfThePageExist(t *testing.T) {
	served := scrapes(t)
	last := served[len(served)-1]
	seen := metricName.FindAllString(readme(t), -1)
	require.Greater(t, len(seen), 5)
	for _, name := range seen {
		require.Regexp(t, "(?m)^"+name+"[ {]", last)
	}
}

// TestThePageHasEachAlert as a heading that its runbook_url leads to, and no others.
func TestThePageHasEachAlert(t *testing.T) {
	text, err := os.ReadFile("manifests/monitoring/rules.yaml")
	require.NoError(t, err)
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert       string
					Annotations map[string]string
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &rules))
	var alerts, headings []string
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			alerts = append(alerts, rule.Alert)
			require.Equal(t, "https://github.com/evictkit/evictkit/blob/main/examples/evictord/README.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"])
		}
	}
	for _, match := range heading.FindAllStringSubmatch(readme(t), -1) {
		if alertName.MatchString(match[1]) {
			headings = append(headings, match[1])
		}
	}
	require.ElementsMatch(t, alerts, headings)
	for _, name := range alertName.FindAllString(readme(t), -1) {
		require.Contains(t, alerts, name)
	}
}

// TestLinksOfThePageLeadSomewhere: to a heading or to a file.
func TestLinksOfThePageLeadSomewhere(t *testing.T) {
	var headings []string
	for _, match := range heading.FindAllStringSubmatch(readme(t), -1) {
		headings = append(headings, "#"+strings.ReplaceAll(strings.ToLower(match[1]), " ", "-"))
	}
	for _, match := range link.FindAllStringSubmatch(readme(t), -1) {
		switch to := match[1]; {
		case strings.HasPrefix(to, "#"):
			require.Contains(t, headings, to)
		case !strings.HasPrefix(to, "https://"):
			require.FileExists(t, to)
		}
	}
}

// TestThePageTellsWhatIsServed: the fields of /debug/evictor and the ports.
func TestThePageTellsWhatIsServed(t *testing.T) {
	var fields []string
	for i := range reflect.TypeFor[state]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[state]().Field(i).Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	for _, name := range []string{"mayWrite", "seesWell", "zones", "waitingNodes", "evictions", "brakes", "budget", "sparedNodes"} {
		require.Contains(t, readme(t), "`"+name+"`")
		require.Contains(t, fields, name)
	}
	o, err := parse(nil, io.Discard)
	require.NoError(t, err)
	for _, address := range []string{o.metricsAddress, o.debugAddress} {
		require.Contains(t, readme(t), "https://127.0.0.1"+address[strings.LastIndexByte(address, ':'):]+"/")
	}
}

// pageBlock returns the block of YAML on the page that begins so.
func pageBlock(t *testing.T, begins string) string {
	t.Helper()
	_, block, found := strings.Cut(readme(t), "```yaml\n"+begins)
	require.True(t, found)
	block, _, found = strings.Cut(block, "```")
	require.True(t, found)
	return begins + block
}

// TestTheListOfControllersKeepsKubeadms, which kubeadm join needs: the page appends to it, in the manifest and in extraArgs.
func TestTheListOfControllersKeepsKubeadms(t *testing.T) {
	lists := regexp.MustCompile(`(?:--controllers=|value: ")(\*[^\s"`+"`"+`]*)`).FindAllStringSubmatch(readme(t), -1)
	require.Len(t, lists, 2)
	for _, list := range lists {
		require.Equal(t, "*,bootstrapsigner,tokencleaner,-node-lifecycle-controller,-taint-eviction-controller", list[1])
	}
}

// TestTheFirstScreen has what matters first, the commands that stop the controller, and a link to each section.
func TestTheFirstScreen(t *testing.T) {
	first, rest, found := strings.Cut(readme(t), "\n## ")
	require.True(t, found)
	require.LessOrEqual(t, strings.Count(first, "\n"), 40)
	require.Regexp(t, `^# .*\n\n\*\*Not on managed control planes\.\*\* GKE, EKS, AKS`, first)
	for _, match := range regexp.MustCompile("(?m)^## (.*)$").FindAllStringSubmatch("## "+rest, -1) {
		require.Contains(t, first, "](#"+strings.ReplaceAll(strings.ToLower(match[1]), " ", "-")+")")
	}
}

// optional returns the kustomization of the page with its commented lines, of which a component needs budget.yaml.
func optional(t *testing.T) string {
	t.Helper()
	return regexp.MustCompile(`(?m)^#`).ReplaceAllString(pageBlock(t, "apiVersion:"), "")
}

// madeOf builds the kustomization beside a checkout, with other files.
func madeOf(t *testing.T, kustomization string, files map[string]string) rendered {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(root, filepath.Join(dir, "evictkit")))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("kustomization.yaml", kustomization)
	for name, text := range files {
		write(name, text)
	}
	return render(t, filesys.MakeFsOnDisk(), dir)
}

// TestTheKustomizationOfThePage, with each overlay, runs the image that it names, with the mode and roles of the
// overlay.
func TestTheKustomizationOfThePage(t *testing.T) {
	block := pageBlock(t, "apiVersion:")
	require.Equal(t, 1, strings.Count(block, "overlays/dry-run"))
	digest := strings.Repeat("0123456789abcdef", 4)
	block = strings.ReplaceAll(block, "sha256:DIGEST", "sha256:"+digest)
	for _, name := range overlays(t) {
		want := renderOverlay(t, name)
		want.deployment.Spec.Template.Spec.Containers[0].Image = "registry.example.com/evictkit-controller@sha256:" + digest
		require.Equal(t, want, madeOf(t, strings.ReplaceAll(block, "overlays/dry-run", "overlays/"+name), nil))
	}
}

// TestTheBudgetOfThePage is where the flag looks for it, and another one rolls out.
func TestTheBudgetOfThePage(t *testing.T) {
	var names []string
	for _, text := range []string{pageBlock(t, "exceeded:"), "bounds: []"} {
		r := madeOf(t, optional(t), map[string]string{"budget.yaml": text})
		made := r.configMaps[slices.IndexFunc(r.configMaps, func(c v1.ConfigMap) bool { return c.Data["budget.yaml"] != "" })]
		pod := r.deployment.Spec.Template.Spec
		require.Equal(t, text, made.Data["budget.yaml"])
		require.Equal(t, made.Name, pod.Volumes[0].ConfigMap.Name)
		require.Equal(t, pod.Volumes[0].Name, pod.Containers[0].VolumeMounts[0].Name)
		require.Equal(t, filepath.Join(pod.Containers[0].VolumeMounts[0].MountPath, "budget.yaml"), r.options(t).budget)
		names = append(names, made.Name)
	}
	require.NotEqual(t, names[0], names[1])
}

// TestAFlagOfThePageArrives by the patch of the page.
func TestAFlagOfThePageArrives(t *testing.T) {
	r := madeOf(t, optional(t), map[string]string{"budget.yaml": "bounds: []"})
	o := r.options(t)
	require.EqualValues(t, 100, o.qps)
	require.NotEmpty(t, o.brakes, "it is added to the others")
}

// TestPeopleOnCallMayDoWhatTheFirstScreenSays, see whether the brakes hold, and no more. kubectl reads an object before it
// patches or scales it, and lists the pods of whose logs it is asked by a selector.
func TestPeopleOnCallMayDoWhatTheFirstScreenSays(t *testing.T) {
	first, _, _ := strings.Cut(readme(t), "\n## ")
	r := render(t, filesys.MakeFsOnDisk(), "manifests/oncall")
	var want []string
	may := func(p clientgo.Permission) {
		p.Namespace = "kube-system"
		want = append(want, p.String())
	}
	for _, verb := range []string{"get", "patch"} {
		require.Contains(t, first, "kubectl -n kube-system patch configmap evictkit-controller-brakes ")
		may(clientgo.Permission{Verb: verb, Resource: "configmaps", Name: "evictkit-controller-brakes"})
	}
	require.Contains(t, readme(t), "kubectl -n kube-system logs -l app.kubernetes.io/name=evictkit-controller --since=1m --tail=-1 --prefix | grep brakes")
	may(clientgo.Permission{Verb: "list", Resource: "pods"})
	may(clientgo.Permission{Verb: "get", Resource: "pods", Subresource: "log"})
	require.Contains(t, first, "kubectl -n kube-system scale deployment/evictkit-controller ")
	may(clientgo.Permission{Verb: "get", Group: "apps", Resource: "deployments", Name: "evictkit-controller"})
	may(clientgo.Permission{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "evictkit-controller"})
	slices.Sort(want)
	require.Equal(t, want, r.given())
	require.Equal(t, 3, strings.Count(first, "\nkubectl "))
	require.Contains(t, readme(t), "--role="+r.roles[0].Name+" ")
}

// TestThePageHasEachOverlay, with its replicas.
func TestThePageHasEachOverlay(t *testing.T) {
	for _, name := range overlays(t) {
		r := renderOverlay(t, name)
		require.Regexp(t, fmt.Sprintf("(?m)^\\| `%s` \\| .* \\| %d \\|$", name, *r.deployment.Spec.Replicas), readme(t))
	}
}
