package fences

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each name of ours on the page is exported by our packages. Each flag is one of the controller's or of
// kube-controller-manager alone.
func TestMigratingNamesWhatThereIs(t *testing.T) {
	text := func(path ...string) string {
		read, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
		require.NoError(t, err)
		return string(read)
	}
	files, err := filepath.Glob(filepath.Join(root, "internal", "api", "*.txt"))
	require.NoError(t, err)
	exported := map[string]string{} // by the last element of the package's path
	for _, file := range files {
		parts := strings.Split(strings.TrimSuffix(filepath.Base(file), ".txt"), ".")
		exported[parts[len(parts)-1]] += text("internal", "api", filepath.Base(file))
	}
	page := text("MIGRATING.md")
	faults, named := namesThatAreNot(page, exported)
	require.Empty(t, faults)
	require.Greater(t, named, 50)

	_, operators, found := strings.Cut(page, "## From kube-controller-manager")
	require.True(t, found)
	options := text("examples", "controller", "options.go")
	for _, row := range strings.Split(operators, "\n") {
		columns := strings.Split(row, "|")
		ours := columns[len(columns)-1] // plain text
		if len(columns) > 2 {
			ours = columns[2]
			if strings.Contains(ours, "the same") {
				ours = columns[1]
			}
		}
		for _, flag := range regexp.MustCompile("--([a-z-]*[a-z])").FindAllStringSubmatch(ours, -1) {
			if flag[1] != "kubeconfig" || !strings.Contains(row, "nothing") {
				require.Contains(t, options, `"`+flag[1]+`"`, "the controller has no --%s", flag[1])
			}
		}
	}
}

// namesThatAreNot looks for `package.Name` and `Type.Name` on a page and returns those that are not exported.
func namesThatAreNot(page string, exported map[string]string) (faults []string, named int) {
	all := ""
	for _, names := range exported {
		all += names
	}
	for _, found := range regexp.MustCompile(`\b(\w+)\.([A-Z]\w*)`).FindAllStringSubmatch(page, -1) {
		names, ours := exported[found[1]]
		pattern := fmt.Sprintf(`(?m)^(const|var|func|type) %s\b`, found[2])
		if first := found[1][:1]; strings.ToUpper(first) == first { // a type, with its method or field
			names, ours = all, regexp.MustCompile(`(?m)^type `+found[1]+`\b`).MatchString(all)
			pattern = fmt.Sprintf(`(?m)^(method \(\*?%[1]s(\[.*?\])?\) %[2]s\(|type %[1]s\b.*, %[2]s\b)`, found[1], found[2])
		}
		if !ours {
			continue
		}
		if named++; !regexp.MustCompile(pattern).MatchString(names) {
			faults = append(faults, found[0])
		}
	}
	return faults, named
}

func TestNamesThatAreNot(t *testing.T) {
	exported := map[string]string{"zone": "func KeyOf(int)\ntype Key struct\ntype Key struct, Zone string\nmethod (Key) String() string\ntype Set[K comparable] struct\nmethod (*Set[K]) Len() int\n"}
	faults, named := namesThatAreNot("`zone.KeyOf`, `Key.Zone`, `Key.String`, `Set.Len`, `rest.Config`, `Foreign.Name`", exported)
	require.Empty(t, faults)
	require.Equal(t, 4, named)
	faults, _ = namesThatAreNot("`zone.KeyOn`, `Key.Region`, `Set.Cap`", exported)
	require.Equal(t, []string{"zone.KeyOn", "Key.Region", "Set.Cap"}, faults)
}
