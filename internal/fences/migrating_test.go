package fences

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	require.NoError(t, err)
	return string(text)
}

// mapped is a name of upstream in the left column of the map, and the version that had it last, if it is gone.
type mapped struct{ name, until string }

// theMap returns the rows of the map, four cells each, and the names in their left cells.
func theMap(t *testing.T) (rows [][]string, names []mapped) {
	_, page, found := strings.Cut(read(t, "MIGRATING.md"), "\n## The map\n")
	require.True(t, found)
	page, _, _ = strings.Cut(page, "\n## ")
	for _, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.Len(t, cells, 4, line)
		rows = append(rows, cells)
		for _, name := range regexp.MustCompile("`([^`]+)`(?: \\(([\\d.]+)\\))?").FindAllStringSubmatch(cells[0], -1) {
			names = append(names, mapped{name[1], name[2]})
		}
	}
	return rows, names
}

// upstreamsNames are those of testdata/upstream.txt.
func upstreamsNames(t *testing.T) (names []string) {
	for _, line := range strings.Split(read(t, "internal", "fences", "testdata", "upstream.txt"), "\n") {
		if !strings.HasPrefix(line, "#") {
			names = append(names, strings.Fields(line)...)
		}
	}
	return names
}

// Each name of upstream has its row, once, and there are no others.
func TestMigratingHasEachNameOfUpstreams(t *testing.T) {
	_, mapped := theMap(t)
	var names []string
	for _, name := range mapped {
		names = append(names, name.name)
	}
	want := upstreamsNames(t)
	slices.Sort(names)
	slices.Sort(want)
	require.Equal(t, want, names)
	require.Greater(t, len(names), 400)
}

// Each name of ours on the page is exported by our packages. Each row of the map names tests or examples that exist. Each
// flag is one of the controller's or of upstream alone.
func TestMigratingNamesWhatThereIs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "internal", "api", "*.txt"))
	require.NoError(t, err)
	exported := map[string]string{} // by the last element of the package's path
	for _, file := range files {
		parts := strings.Split(strings.TrimSuffix(filepath.Base(file), ".txt"), ".")
		exported[parts[len(parts)-1]] += read(t, "internal", "api", filepath.Base(file))
	}
	page := read(t, "MIGRATING.md")
	faults, named := namesThatAreNot(page, exported)
	require.Empty(t, faults)
	require.Greater(t, named, 200)

	all := ""
	for _, names := range exported {
		all += names
	}
	rows, _ := theMap(t)
	for _, row := range rows {
		for _, name := range regexp.MustCompile("`(?:(\\w+)\\.)?([A-Z]\\w*)`").FindAllStringSubmatch(row[1], -1) {
			if name[1] != "" {
				_, named := namesThatAreNot(name[0], exported)
				require.Equal(t, 1, named, "no package and no type of ours: %s", name[0])
				continue
			}
			require.Regexp(t, `(?m)^(type|const|func) (.*, )?`+name[2]+`\b`, all, row[1])
		}
	}
	examples, code := 0, map[string]string{}
	for _, row := range rows {
		tests := regexp.MustCompile("`([a-z]+): ((?:Test|Example)\\w*)`").FindAllStringSubmatch(row[3], -1)
		require.NotEmpty(t, tests, "%s: nothing shows it", row[0])
		require.Len(t, tests, strings.Count(row[3], "`")/2, row[3])
		for _, test := range tests {
			if code[test[1]] == "" {
				code[test[1]] = testsOf(t, test[1])
			}
			require.True(t, strings.Contains(code[test[1]], "func "+test[2]+"("), test[0])
			if strings.HasPrefix(test[2], "Example") {
				examples++
			}
		}
	}
	require.Greater(t, examples, 70)

	options := read(t, "examples", "controller", "options.go")
	for _, row := range rows {
		for _, flag := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(row[0], -1) {
			if strings.Contains(row[1], "`Config.") {
				require.Contains(t, options, `"`+flag[1]+`"`, "the controller has no --%s", flag[1])
			}
		}
	}
	_, operators, found := strings.Cut(page, "## From kube-controller-manager")
	require.True(t, found)
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

// testsOf returns the tests and examples of a package, by the last element of its path.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	var code strings.Builder
	for _, dir := range []string{"", "evictor", "evictor/compat", "evictor/clientgo", "evictor/nodepressure"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), pkg, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			code.Write(text)
		}
	}
	require.NotZero(t, code.Len(), pkg)
	return code.String()
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
