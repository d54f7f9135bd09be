package fences

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A module beside a checkout uses it by the lines of the README, and by its workspace. It finds every package there. With
// EVICTKIT_FULL it is built, too.
func TestACheckoutIsUsedByTheLinesOfTheReadme(t *testing.T) {
	_, text, found := strings.Cut(page(t, "README.md"), "\n## Use a checkout\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(text)
	require.NotNil(t, block)
	workspace := regexp.MustCompile("`(go work [^`]+)`").FindAllStringSubmatch(text, -1)
	require.Len(t, workspace, 2)
	for name, lines := range map[string]string{"replaced": block[1], "a workspace": workspace[0][1] + "\n" + workspace[1][1]} {
		t.Run(name, func(t *testing.T) {
			dir := besideACheckout(t)
			shell(t, dir, lines)
			require.Contains(t, shell(t, dir, "go list -deps"), module+"/evictor/clientgo\n")
			if os.Getenv("EVICTKIT_FULL") != "" {
				shell(t, dir, "go build")
			}
		})
	}
}

// besideACheckout returns the folder of a new module that imports our packages, beside a link to this checkout.
func besideACheckout(t *testing.T) string {
	above := t.TempDir()
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(checkout, filepath.Join(above, "evictkit")))
	dir := filepath.Join(above, "yours")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(`package main

import (
	"fmt"

	"`+module+`/evictor/clientgo"
	"`+module+`/taints"
)

func main() { fmt.Println(clientgo.Options{}, taints.Tolerate(nil, nil, false)) }
`), 0o600))
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
