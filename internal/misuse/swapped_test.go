package misuse

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSwappedArgumentsDoNotCompile: the compiler answers, and names the argument.
func TestSwappedArgumentsDoNotCompile(t *testing.T) {
	const file = "testdata/swapped/swapped.go"
	said, err := exec.Command("go", "build", "-gcflags=-e", "./testdata/swapped").CombinedOutput()
	require.Error(t, err)
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	rows, want := 0, regexp.MustCompile("// want `(.*)`$")
	for i, line := range strings.Split(string(source), "\n") {
		if match := want.FindStringSubmatch(line); match != nil {
			rows++
			at := fmt.Sprintf("%s:%d:", file, i+1)
			require.Regexp(t, regexp.QuoteMeta(at)+`\d+: `+regexp.QuoteMeta(match[1]), string(said))
		}
	}
	require.Equal(t, 11, rows)
	require.NotContains(t, string(said), "declared and not used")
}
