package fences

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A module beside a checkout uses it by the lines of the README, and by its workspace. It finds every package there. With
// EVICTKIT_FULL it is built, too.
func TestACheckoutIsUsedByTheLinesOfTheReadme(t *testing.T) {
	text := recipe(t)
	workspace := regexp.MustCompile("`(go work [^`]+)`").FindAllStringSubmatch(text, -1)
	require.Len(t, workspace, 2)
	for name, lines := range map[string]string{"replaced": commands(t, text), "a workspace": workspace[0][1] + "\n" + workspace[1][1]} {
		t.Run(name, func(t *testing.T) {
			dir := besideACheckout(t, module+"/evictor/clientgo", module+"/taints")
			shell(t, dir, lines)
			require.Contains(t, shell(t, dir, "go list -deps"), module+"/evictor/clientgo\n")
			if os.Getenv("EVICTKIT_FULL") != "" {
				shell(t, dir, "go build")
			}
		})
	}
}

// The lines of the README keep the go line of a module that imports what all examples import, as far as our modules have
// it: their packages, and those of the Kubernetes libraries that they require. With EVICTKIT_FULL that is all our modules,
// else those that the lines name.
func TestTheLinesOfTheReadmeKeepTheGoLine(t *testing.T) {
	lines := commands(t, recipe(t))
	ours := []string{"", "/evictor/clientgo"}
	if os.Getenv("EVICTKIT_FULL") != "" {
		const named = "for part in clientgo;"
		require.Contains(t, lines, named)
		lines = strings.ReplaceAll(lines, named, "for part in clientgo manager compat nodepressure;")
		ours = append(ours, "/evictor/manager", "/evictor/compat", "/evictor/nodepressure")
	}
	dir := besideACheckout(t, importedByExamples(t, ours)...)
	shell(t, dir, "go mod edit -go=1.23.0")
	shell(t, dir, lines)
	require.Regexp(t, `(?m)^go 1\.23\.0$`, shell(t, dir, "cat go.mod"))
	require.NotContains(t, shell(t, dir, "cat go.mod"), "toolchain")
}

// importedByExamples returns the imports of all examples that these modules of ours have or require.
func importedByExamples(t *testing.T, ours []string) (imports []string) {
	t.Helper()
	wanted := func(path string) bool {
		if rest, is := strings.CutPrefix(path, module); is {
			of := slices.DeleteFunc([]string{"/evictor/clientgo", "/evictor/manager", "/evictor/compat", "/evictor/nodepressure", "/examples"}, func(one string) bool { return !strings.HasPrefix(rest+"/", one+"/") })
			return len(of) == 0 || slices.Contains(ours, of[0])
		}
		return slices.ContainsFunc([]string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/client-go/", "k8s.io/utils/"}, func(one string) bool { return strings.HasPrefix(path, one) })
	}
	found := map[string]bool{}
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "examples"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, one := range file.Imports {
			if path := strings.Trim(one.Path.Value, `"`); wanted(path) {
				found[path] = true
			}
		}
		return nil
	}))
	require.Contains(t, found, "k8s.io/utils/clock", "it was the one whose newest version raised the go line")
	return slices.Sorted(maps.Keys(found))
}

// recipe returns the section of the README.
func recipe(t *testing.T) string {
	t.Helper()
	_, text, found := strings.Cut(page(t, "README.md"), "\n## Use a checkout\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// commands returns its lines for the shell.
func commands(t *testing.T, text string) string {
	t.Helper()
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(text)
	require.NotNil(t, block)
	return block[1]
}

// besideACheckout returns the folder of a new module with these imports, beside a link to this checkout.
func besideACheckout(t *testing.T, imports ...string) string {
	t.Helper()
	above := t.TempDir()
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(checkout, filepath.Join(above, "evictkit")))
	dir := filepath.Join(above, "yours")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nimport (\n\t_ \""+strings.Join(imports, "\"\n\t_ \"")+"\"\n)\n\nfunc main() {}\n"), 0o600))
	shell(t, dir, "go mod init example.org/yours")
	return dir
}

// shell runs lines of a page and returns what they print. What is in the module cache is not downloaded again.
func shell(t *testing.T, dir, lines string) string {
	t.Helper()
	cache := strings.TrimSpace(run(t, "go", "env", "GOMODCACHE"))
	command := exec.Command("sh", "-ec", lines)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=", "GOSUMDB=off",
		"GOPROXY=file://"+filepath.ToSlash(cache)+"/cache/download,"+strings.TrimSpace(run(t, "go", "env", "GOPROXY")))
	var faults strings.Builder
	command.Stderr = &faults
	printed, err := command.Output()
	require.NoError(t, err, "%s\n%s", lines, faults.String())
	return string(printed)
}
