// Package ci answers: how does CI keep out settings that are too slow in an outage, or too hasty in a false alarm?
//
// check.sh is what CI runs. It plays three scenarios in virtual time, and their expectations decide.
package ci

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheCheck passes with the settings that are here, and names what others break.
func TestTheCheck(t *testing.T) {
	programs := t.TempDir()
	build := exec.Command("go", "build", "-o", programs, "../evictsim")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, row := range map[string]struct {
		settings, prints string
		code             int
	}{
		"the defaults":       {"# nothing is set", "outage.yaml\nhalf-lost.yaml\nfalse-alarm.yaml\n", 0},
		"as they are":        {"", "outage.yaml\nhalf-lost.yaml\nfalse-alarm.yaml\n", 0},
		"too slow":           {"nodeEvictionRate: 0.01", "outage.yaml\nexpect 2: evictionDelayWorstSeconds is 1250, more than 480\nhalf-lost.yaml\nfalse-alarm.yaml\n", 2},
		"too much patience":  {"nodeMonitorGracePeriod: 4m", "outage.yaml\nexpect 2: evictionDelayWorstSeconds is 630, more than 480\nhalf-lost.yaml\nfalse-alarm.yaml\n", 2},
		"too hasty":          {"unhealthyZoneThreshold: 0.7", "outage.yaml\nhalf-lost.yaml\nfalse-alarm.yaml\nexpect 3: evictedWhileRunning is 104, more than 20\n", 2},
		"below the renewals": {"nodeMonitorGracePeriod: 9s", "outage.yaml\nhalf-lost.yaml\nfalse-alarm.yaml\nexpect 1: unknownNodes is", 2},
		"never":              {"secondaryNodeEvictionRate: 0", "outage.yaml\nhalf-lost.yaml\nexpect 1: notEvicted is 312, more than 0\nfalse-alarm.yaml\n", 2},
		"no settings at all": {"nodeEvictionrate: 1", "", 64},
	} {
		t.Run(name, func(t *testing.T) {
			var args []string
			if row.settings != "" {
				args = []string{filepath.Join(t.TempDir(), "settings.yaml")}
				require.NoError(t, os.WriteFile(args[0], []byte(row.settings), 0o600))
			}
			text, err := exec.Command("sh", append([]string{"check.sh"}, args...)...).CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				require.Equal(t, row.code, exit.ExitCode(), "%s", text)
			} else {
				require.NoError(t, err)
				require.Zero(t, row.code)
			}
			if row.prints != "" {
				require.Contains(t, string(text), row.prints)
			}
		})
	}
}
