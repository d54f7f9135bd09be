package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// dump has a workload of each kind that has a controller here.
func dump() string {
	var text strings.Builder
	text.WriteString(`---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: default, uid: u-db}, spec: {replicas: 3, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: batch, namespace: default, uid: u-batch}, spec: {parallelism: 3, completions: 30, backoffLimit: 20,
  template: {metadata: {labels: {app: batch}}, spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}}
`)
	nodes := []string{"a-000", "a-001", "a-002", "b-000", "b-001", "b-002"}
	for _, of := range []struct {
		api, kind, name string
		pods            int
	}{{"apps/v1", "StatefulSet", "db", 3}, {"apps/v1", "ReplicaSet", "web", 6}, {"batch/v1", "Job", "batch", 3}} {
		for i := range of.pods {
			fmt.Fprintf(&text, `---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s-%[2]d, namespace: default, uid: u-%[1]s-%[2]d, labels: {app: %[1]s},
  ownerReferences: [{apiVersion: %[3]s, kind: %[4]s, name: %[1]s, uid: u-%[1]s, controller: true}]},
 spec: {nodeName: %[5]s, containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}], tolerations: [
  {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300},
  {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]},
 status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
`, of.name, i, of.api, of.kind, nodes[i])
		}
	}
	return text.String()
}

const outages = `cluster:
  files: [dump.yaml]
  zones:
  - {name: a, nodes: 3, podsPerNode: 2, daemonSetPodsPerNode: 1, capacity: {cpu: 4}}
  - {name: b, nodes: 3, podsPerNode: 2, daemonSetPodsPerNode: 1, capacity: {cpu: 4}}
reschedule: {after: 10s}
events:
- {at: 1m, drain: {nodes: [a-000], timeout: 10m}}
- {at: 5m, fail: {nodes: [a-001]}}
- {at: 15m, outOfService: {nodes: [a-001]}}
- {at: 20m, recover: {nodes: [a-001]}}
- {at: 22m, uncordon: {nodes: [a-000]}}
- {at: 25m, deleteNode: {nodes: [b-002]}}
- {at: 30m, api: {state: down}}
- {at: 32m, api: {state: up}}
- {at: 35m, fail: {zone: b}}
- {at: 50m, recover: {zone: b}}
until: 1h
`

// TestUpstreamPlaysEveryController: with everything that is Kubernetes' own in place of the simulator's parts, pods leave, come back
// and wait as they do with ours.
func TestUpstreamPlaysEveryController(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.yaml"), []byte(dump()), 0o600))
	require.NoError(t, os.WriteFile(path, []byte(outages), 0o600))
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	defer stop()
	out, theirs := upstream(ctx, t, path)

	file, err := scenariofile.Load(path)
	require.NoError(t, err)
	played, _ := file.Simulation(ctx, nil)
	var lines strings.Builder
	played.Timeline = timeline.To(&lines)
	ours, err := simulation.Play(ctx, played)
	require.NoError(t, err)

	defer func() {
		if t.Failed() {
			t.Logf("theirs:\n%s\nours:\n%s", out, lines.String())
		}
	}()
	require.Equal(t, ours.Drained, theirs.Drained)
	require.Equal(t, ours.Removed, theirs.Removed)
	require.Equal(t, ours.Evicted, theirs.Evicted)
	require.Equal(t, ours.ReturnedPods, theirs.ReturnedPods)
	require.Equal(t, ours.PendingAtEnd, theirs.PendingAtEnd)
	require.InDelta(t, ours.PodHoursLost, theirs.PodHoursLost, 0.1)
	require.Len(t, theirs.Workloads, len(ours.Workloads))
	for i := range ours.Workloads {
		require.Equal(t, ours.Workloads[i].String(), theirs.Workloads[i].String())
		require.Equal(t, ours.Workloads[i].Desired, theirs.Workloads[i].Desired, ours.Workloads[i].String())
		require.Equal(t, ours.Workloads[i].ReadyAtEnd, theirs.Workloads[i].ReadyAtEnd, ours.Workloads[i].String())
		require.InDelta(t, ours.Workloads[i].PodHoursMissing, theirs.Workloads[i].PodHoursMissing, 0.1, ours.Workloads[i].String())
	}
}
