package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// threeZones are three zones with two nodes each, over which the pods of two workloads are spread. Both have six pods; the
// budget of one lets one go, that of the other two.
func threeZones(policy string) string {
	text := "apiVersion: v1\nkind: List\nitems:\n"
	for _, zone := range "abc" {
		for i := range 2 {
			text += fmt.Sprintf("- {apiVersion: v1, kind: Node, metadata: {name: %c%d, labels: {topology.kubernetes.io/zone: %c}}}\n", zone, i, zone)
		}
	}
	for app, unavailable := range map[string]int{"web": 1, "api": 2} {
		text += fmt.Sprintf("- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s}, spec: {maxUnavailable: %d, unhealthyPodEvictionPolicy: %s, selector: {matchLabels: {app: %s}}}}\n", app, unavailable, policy, app)
		for i := range 6 {
			text += fmt.Sprintf("- {apiVersion: v1, kind: Pod, metadata: {name: %s-%d, labels: {app: %s}, ownerReferences: [{kind: ReplicaSet, name: %s, controller: true}]}, spec: {nodeName: %c%d, "+
				"tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]}}\n", app, i, app, app, "abc"[i%3], i/3)
		}
	}
	return text
}

// TestTheRunbookFindsTheBudgetsThatBlock a lost zone: the command of the controller's page names the budget of which the
// zone has more pods than it lets go, and none once that budget lets go of what is not Ready.
func TestTheRunbookFindsTheBudgetsThatBlock(t *testing.T) {
	page, err := os.ReadFile("../evictord/README.md")
	require.NoError(t, err)
	command := regexp.MustCompile(`(?m)^go run -C examples \./evictsim (--set .*)$`).FindStringSubmatch(string(page))
	require.NotNil(t, command)
	var args []string
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(command[1], -1) {
		args = append(args, strings.ReplaceAll(strings.Trim(word, "'"), "ZONE", "a"))
	}
	t.Chdir(t.TempDir())
	played := func(policy string, more ...string) string {
		require.NoError(t, os.WriteFile("dump.yaml", []byte(threeZones(policy)), 0o600))
		story, _, err := simulate(t, append(args, more...)...)
		require.NoError(t, err)
		return story
	}
	const named = "disruption budget refused evictions of 2 pods, 2 of them still at the end: default/web "
	require.Contains(t, played("IfHealthyBudget"), named)
	require.NotContains(t, played("AlwaysAllow"), "refused evictions")

	var all struct {
		Budgets []struct {
			Name    string
			Figures struct{ RefusedAtEnd int }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(played("IfHealthyBudget", "-o", "json")), &all))
	refused := map[string]int{}
	for _, b := range all.Budgets {
		refused[b.Name] = b.Figures.RefusedAtEnd
	}
	require.Equal(t, map[string]int{"default/web": 2, "default/api": 0}, refused)
	require.Contains(t, string(page), "`refusedAtEnd`")
}
