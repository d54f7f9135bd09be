package simulation

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/zone"
)

// Figure is one number of a report. Its name is that of its field with a small first letter; durations are in seconds,
// and their names end with Seconds.
type Figure struct {
	Name  string
	Value float64
	Never bool // it is the time of what never happened; Value is 0
}

// Figures returns those of a cluster, zone, workload or budget, in the order of the fields.
func Figures[T Report | ZoneReport | WorkloadReport | BudgetReport](of *T) []Figure {
	return figuresOf(reflect.ValueOf(*of))
}

// String returns namespace/kind/name.
func (w *WorkloadReport) String() string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

func figuresOf(of reflect.Value) (figures []Figure) {
	for i := range of.NumField() {
		field := of.Type().Field(i)
		if field.Anonymous {
			figures = append(figures, figuresOf(of.Field(i))...)
			continue
		}
		counted, ok := field.Tag.Lookup("figure") // the tag names the field that counts what a time is of
		if !ok {
			continue
		}
		f := Figure{Name: strings.ToLower(field.Name[:1]) + field.Name[1:], Never: counted != "" && of.FieldByName(counted).IsZero()}
		switch value := of.Field(i).Interface().(type) {
		case int:
			f.Value = float64(value)
		case time.Duration:
			f.Name, f.Value = f.Name+"Seconds", value.Seconds()
		case float64:
			f.Value = value
		}
		figures = append(figures, f)
	}
	return figures
}

// Subjects returns a Report that has no figures, only the names of the zones, workloads and budgets that there are now. Later
// ones are those of nodes and pods that are added.
func (w *World) Subjects() *Report {
	c, r := w.player.cluster, new(Report)
	for name := range c.zones {
		r.Zones = append(r.Zones, ZoneReport{Name: name})
	}
	for i := range c.levels.workloads {
		if of := &c.levels.workloads[i]; of.kind != "DaemonSet" { // whose pods do not count
			r.Workloads = append(r.Workloads, WorkloadReport{NamespacedName: types.NamespacedName{Namespace: of.namespace, Name: of.name}, Kind: of.kind})
		}
	}
	for i := range c.levels.budgets {
		of := &c.levels.budgets[i]
		r.Budgets = append(r.Budgets, BudgetReport{NamespacedName: types.NamespacedName{Namespace: of.namespace, Name: of.name}})
	}
	return r
}

// Zone returns the result for a zone, by a reference as in Nodes.Zone.
func (r *Report) Zone(ref string) (*ZoneReport, error) {
	keys := make([]zone.Key, len(r.Zones))
	for i := range r.Zones {
		keys[i].Region, keys[i].Zone, _ = strings.Cut(r.Zones[i].Name, ":")
	}
	key, err := resolveZone(ref, keys)
	if err != nil {
		return nil, err
	}
	return &r.Zones[slices.Index(keys, key)], nil
}
