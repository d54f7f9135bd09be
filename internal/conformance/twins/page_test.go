package twins

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/conformance/differential"
)

var writes = flag.Bool("write", false, "write the table into SCENARIO.md")

const (
	page       = "../../../examples/scenariofile/SCENARIO.md"
	begin, end = "<!-- twins -->\n", "<!-- end of twins -->\n"
)

// More twins, that other packages play.
const (
	lifecycle = "node lifecycle and taint eviction controllers" // differential
	before    = "node lifecycle controller of 1.18"             // differential
	scheduler = "kube-scheduler"                                // placement
)

// onlyNames are fields that only name or choose something.
var onlyNames = strings.Fields("cluster.files cluster.zones cluster.zones.name cluster.zones.region events events.at events.repeat expect on.count on.nodes " +
	"on.percent on.seed on.selector on.zone until")

// twinsOf says who is the original of what an event or a field of a scenario makes happen. What is not here has no twin.
var twinsOf = invert(map[string]string{
	lifecycle: "config.nodeMonitorPeriod config.nodeMonitorGracePeriod config.nodeStartupGracePeriod config.nodeEvictionRate " +
		"config.secondaryNodeEvictionRate config.largeClusterSizeThreshold config.unhealthyZoneThreshold cluster.zones.nodes " +
		"cluster.zones.podsPerNode cluster.zones.daemonSetPodsPerNode events.fail events.recover events.condition events.loseLeases " +
		"events.showLeases events.taint events.untaint events.cordon events.uncordon events.deleteNode events.addNode events.addPod " +
		"events.restart events.api",
	"PodGC":                  "events.outOfService events.deleteNode events.replaceNode events.replaceNode.after reschedule",
	"ReplicaSet controller":  "events.partition events.deletePod events.forceDelete objects.ReplicaSet reschedule",
	"StatefulSet controller": "events.partition events.deletePod events.forceDelete objects.StatefulSet reschedule",
	"Job controller":         "events.partition events.deletePod events.forceDelete objects.Job reschedule",
	"disruption controller":  "config.useEvictionAPI objects.PodDisruptionBudget",
	"eviction subresource":   "config.useEvictionAPI objects.PodDisruptionBudget",
	"kubectl drain":          "events.drain events.drain.timeout",
	before:                   "config.podEvictionTimeout config.taintBasedEviction",
	scheduler: "node.labels node.taints node.capacity node.unschedulable pod.labels pod.nodeSelector pod.requests pod.tolerations " +
		"objects.PersistentVolume objects.PersistentVolumeClaim",
})

func invert(of map[string]string) map[string][]string {
	twins := make(map[string][]string)
	for _, twin := range slices.Sorted(maps.Keys(of)) {
		for _, path := range strings.Fields(of[twin]) {
			twins[path] = append(twins[path], twin)
		}
	}
	return twins
}

// objectKinds are the kinds of objects that files may have.
var objectKinds = []string{"DaemonSet", "Deployment", "Job", "PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudget", "ReplicaSet", "StatefulSet"}

// TestThePageSaysWhichTwinAFieldHas: SCENARIO.md has every event and field, its twin, in how many of the twin's scenarios it is,
// and what may differ. Write it anew with -write.
func TestThePageSaysWhichTwinAFieldHas(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "the page has no %q", begin)
	is, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the page has no %q", end)
	should := table(t)
	if *writes {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+should+end+after), 0o644))
		return
	}
	require.Equal(t, should, is, "go test -C internal/conformance ./twins -run TestThePage -write")
}

func table(t *testing.T) string {
	counts := countFields()
	known := slices.Sorted(maps.Keys(fieldsOf(nil)))
	for path, twins := range twinsOf {
		assert.Contains(t, known, path, "there is no such field any more")
		for _, twin := range twins {
			assert.True(t, counts.has(twin, path), "%s is in no scenario of %s", path, twin)
		}
	}
	b := &strings.Builder{}
	b.WriteString("| event or field | twin (scenarios) | what may differ |\n| --- | --- | --- |\n")
	var without, idle []string
	for _, path := range known {
		above := path[:max(0, strings.LastIndex(path, "."))]
		switch {
		case twinsOf[path] != nil:
			var names, parts []string
			for _, twin := range twinsOf[path] {
				if n := counts[twin][path]; n > 0 {
					twin = fmt.Sprintf("%s (%d)", twin, n)
				}
				names = append(names, twin)
			}
			for _, part := range known {
				if name, below := strings.CutPrefix(part, path+"."); below && twinsOf[part] == nil && counts.inherits(part, path) {
					parts = append(parts, name)
				}
			}
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", strings.Join(append([]string{path}, parts...), "`, `"), strings.Join(names, ", "), strings.Join(differsIn(path), " "))
		case counts.inherits(path, above), slices.Contains(without, above), above == "expect":
		case slices.Contains(onlyNames, path):
			idle = append(idle, path)
		default:
			without = append(without, path)
		}
	}
	fmt.Fprintf(b, "\n**No twin:** `%s`.\n\nWhat only names or chooses needs none: `%s`.\n", strings.Join(without, "`, `"), strings.Join(idle, "`, `"))
	return b.String()
}

// counts is in how many scenarios of a twin a field is set.
type counts map[string]map[string]int

// has says whether a twin has played a field. Package placement does not count.
func (c counts) has(twin, path string) bool { return twin == scheduler || c[twin][path] > 0 }

// inherits says whether a part of a field was played with it.
func (c counts) inherits(part, of string) bool {
	return slices.ContainsFunc(twinsOf[of], func(twin string) bool { return c.has(twin, part) })
}

// differsIn is why an event or field may differ.
func differsIn(path string) (why []string) {
	for _, r := range mayDiffer {
		if slices.Contains(r.about, path) {
			why = append(why, r.why)
		}
	}
	return why
}

// countFields counts the scenarios of each twin in which a field is set.
func countFields() counts {
	all := make(counts)
	count := func(twin string, fields map[string]bool) {
		if all[twin] == nil {
			all[twin] = make(map[string]int)
		}
		for path, set := range fields {
			if set {
				all[twin][path]++
			}
		}
	}
	for i := range twins {
		for seed := uint64(1); seed <= usualSeeds; seed++ {
			s := twins[i].scene(seed)
			fields := fieldsOf(s.file)
			for _, object := range s.objects {
				fields["objects."+reflect.TypeOf(object).Elem().Name()] = true
			}
			count(twins[i].name, fields)
		}
	}
	for seed := uint64(1); seed <= usualSeeds*10; seed++ { // as its own tests do
		count(lifecycle, fieldsOf(&differential.Generate(seed, differential.V137).Scenario))
		count(before, fieldsOf(&differential.Generate(seed, differential.V118Direct).Scenario))
	}
	return all
}

// fieldsOf returns the paths of all fields of a scenario, and which of them it sets.
func fieldsOf(s *scenariofile.Scenario) map[string]bool {
	usual := scenariofile.New()
	if s == nil {
		s = usual
	}
	fields := make(map[string]bool)
	for _, kind := range objectKinds {
		fields["objects."+kind] = false
	}
	walk(reflect.ValueOf(s).Elem(), reflect.ValueOf(usual).Elem(), "", fields)
	return fields
}

// groups are the structs that several events and zones have in common.
var groups = map[reflect.Type]string{
	reflect.TypeFor[simulation.Nodes](): "on", reflect.TypeFor[simulation.NodeFields](): "node", reflect.TypeFor[simulation.PodFields](): "pod",
}

func walk(v, usual reflect.Value, path string, fields map[string]bool) {
	if group := groups[v.Type()]; group != "" {
		path = group
	}
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("yaml")
		name, _, _ := strings.Cut(tag, ",")
		field := v.Field(i)
		switch own := strings.TrimPrefix(path+"."+name, "."); {
		case name == "-", tag == "":
		case strings.HasSuffix(tag, ",inline"):
			walk(field, usual.Field(i), path, fields)
		default:
			fields[own] = fields[own] || !reflect.DeepEqual(field.Interface(), usual.Field(i).Interface())
			if name != "repeat" { // whose events are the same
				walkInto(field, usual.Field(i), own, fields)
			}
		}
	}
}

// walkInto walks what a field refers to, or what it could refer to.
func walkInto(field, usual reflect.Value, path string, fields map[string]bool) {
	of := field.Type()
	inner := of
	if of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		inner = of.Elem()
	}
	if inner.Kind() != reflect.Struct || !slices.ContainsFunc([]string{"/simulation", "/scenariofile"}, func(s string) bool { return strings.HasSuffix(inner.PkgPath(), s) }) {
		return
	}
	none := reflect.Zero(inner)
	switch {
	case of.Kind() == reflect.Struct:
		delete(fields, path)
		walk(field, usual, path, fields)
	case of.Kind() == reflect.Pointer && !field.IsNil():
		walk(field.Elem(), none, path, fields)
	default:
		walk(none, none, path, fields)
	}
	for i := 0; of.Kind() == reflect.Slice && i < field.Len(); i++ {
		walk(field.Index(i), none, path, fields)
	}
}
