package simulation

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestActionsAreNamedAsInFiles(t *testing.T) {
	require.Empty(t, (&Event{}).Actions())
	all := Event{
		Fail: &Nodes{}, Recover: &Nodes{}, Partition: &Partition{}, LoseLeases: &LoseLeases{}, ShowLeases: &Nodes{}, Condition: &Condition{}, Taint: &Taint{}, Untaint: &Untaint{}, Cordon: &Nodes{}, Uncordon: &Nodes{},
		OutOfService: &Nodes{}, Drain: &Drain{}, ReplaceNode: &ReplaceNode{}, Roll: &Roll{}, Repeat: &Repeat{},
		DeleteNode: &Nodes{}, AddNode: &AddNode{}, AddPod: &AddPod{}, DeletePod: &Pod{}, ForceDelete: &Pod{}, API: &API{}, Restart: &Restart{},
	}
	require.Equal(t, []string{
		"fail", "recover", "partition", "loseLeases", "showLeases", "condition", "taint", "untaint", "outOfService", "cordon", "uncordon", "drain",
		"deleteNode", "replaceNode", "roll", "addNode", "addPod", "deletePod", "forceDelete", "api", "restart", "repeat",
	}, all.Actions())
}

func TestEventsInWords(t *testing.T) {
	var got []string
	for _, e := range soundEvents() {
		got = append(got, e.String())
	}
	require.Equal(t, []string{
		"fail 30 % of zone a", "recover nodes with topology.kubernetes.io/zone notin (c)", "partition 1 node of zone b with kubernetes.io/os=linux",
		"nodes with topology.kubernetes.io/zone in (a) reports Ready=False", "taint 2 nodes k:NoSchedule", "drain node a-001", "outOfService node a-001",
		"replaceNode node a-001", "cordon node a-001", "api slow for kubelets by 1s", "api down for evictor", "addNode n", "addPod p on n",
		"fail nodes with pool=gpu", "repeat 2 events every 5m",
	}, got)
	require.Equal(t, "fail 2 nodes of zone a", (&Event{Fail: &Nodes{Zone: "a", Count: 2}}).String())
	require.Equal(t, "recover zone a", (&Event{Recover: &Nodes{Zone: "a"}}).String())
	require.Equal(t, "fail 2 nodes", (&Event{Fail: named("x", "y")}).String())
	require.Equal(t, "restart", (&Event{Restart: &Restart{}}).String())
	require.Equal(t, "drain all nodes", (&Event{Drain: &Drain{Nodes: Nodes{Percent: 100}}}).String())
}

// A field of Event that does has no case for would do nothing, and say nothing of itself.
func TestEachEventHasAnAction(t *testing.T) {
	of := reflect.TypeFor[Event]()
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Type.Kind() != reflect.Pointer {
			continue
		}
		var e Event
		reflect.ValueOf(&e).Elem().Field(i).Set(reflect.New(field.Type.Elem()))
		a := e.does()
		if e.Restart == nil && e.Repeat == nil { // which the loop plays, and the plan
			require.True(t, a.do != nil || a.play != nil, field.Name)
			require.True(t, a.words != "" || a.nodes != nil || a.more != "", "%s has words with its parameters", field.Name)
		}
		if a.words == "" {
			require.True(t, strings.HasPrefix(e.String(), e.Actions()[0]), e.String())
		}
	}
}
