package simulation

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestActionsAreNamedAsInFiles(t *testing.T) {
	require.Empty(t, (&Event{}).Actions())
	var all Event
	var names []string
	for _, field := range actionsOf(&all) {
		names = append(names, nameInFiles(field))
	}
	require.ElementsMatch(t, names, all.Actions())
}

// actionsOf returns the fields of an Event that say what happens, and sets them.
func actionsOf(e *Event) (fields []reflect.StructField) {
	v := reflect.ValueOf(e).Elem()
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.Type.Kind() == reflect.Pointer {
			fields = append(fields, field)
			v.Field(i).Set(reflect.New(field.Type.Elem()))
		}
	}
	return fields
}

func nameInFiles(field reflect.StructField) string {
	if field.Name == "API" {
		return "api"
	}
	return strings.ToLower(field.Name[:1]) + field.Name[1:]
}

func TestEventsInWords(t *testing.T) {
	var got []string
	for _, e := range soundEvents() {
		got = append(got, e.String())
	}
	require.Equal(t, []string{
		"fail 30 % of zone a", "recover nodes with topology.kubernetes.io/zone notin (c)", "partition 1 node of zone b with kubernetes.io/os=linux",
		"loseLeases node a-000", "showLeases node a-000",
		"nodes with topology.kubernetes.io/zone in (a) reports Ready=False", "taint 2 nodes k:NoSchedule", "untaint node a-000 k:NoSchedule",
		"drain node a-001", "outOfService node a-001", "replaceNode node a-001", "cordon node a-001", "uncordon node a-001", "roll zone b",
		"deletePod a-000-p0", "forceDelete a-000-p1", "deleteNode node a-002", "restart", "api slow for kubelets by 1s", "api down for evictor", "addNode n", "addPod p on n",
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
	for _, field := range actionsOf(&Event{}) {
		var e Event
		reflect.ValueOf(&e).Elem().FieldByIndex(field.Index).Set(reflect.New(field.Type.Elem()))
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
