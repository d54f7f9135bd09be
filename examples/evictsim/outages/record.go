package outages

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Record is a recorded outage and the cluster that it is played on.
type Record struct {
	// Name is the record's name in tables.
	Name string
	// Length is the length of the worst stretch, the only part that Make uses; 0 means the whole record.
	Length time.Duration
	// Half says which half of that to play, 1 or 2; 0 means all of it.
	Half int
	// Alarm is a false alarm during the first day of that; nil means none.
	Alarm *Alarm

	make func(data string, length time.Duration) (*played, error)
}

// played is a record as the parts of a scenario.
type played struct {
	nodes  []v1.Node
	pods   []v1.Pod
	events []event
	traces []trace
	until  time.Duration
}

// event is the failure or recovery of some nodes.
type event struct {
	at      time.Duration
	recover bool
	nodes   []string
}

// trace is the number of live nodes of a zone over time.
type trace struct {
	zone string
	gap  time.Duration // between two samples, in whole seconds
	data []int
}

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// Records returns all records, in the order of a table.
func Records() []Record {
	return []Record{
		{Name: "spot", make: spot},
		{Name: "spot-1node", make: single},
		{Name: "lanl-02", Length: year, make: lanl("system-02-49-nodes.csv", 49)},
		{Name: "lanl-18", Length: 30 * day, make: lanl("system-18-1024-nodes.csv", 1024)},
		{Name: "lanl-20", Length: 30 * day, make: lanl("system-20-512-nodes.csv", 512)},
	}
}

// Title names the played part of the record.
func (r Record) Title() string {
	title := r.Name
	if r.Half > 0 {
		title += []string{", first half", ", second half"}[r.Half-1]
	}
	if r.Alarm != nil {
		title += ", " + r.Alarm.Name
	}
	return title
}

// Make reads the record from the folder data and writes its scenario and the objects of its cluster into the folder to.
// It returns the scenario's path. Every pod tolerates an outage of its node for tolerationSeconds. Errors name the file.
func (r Record) Make(data, to string, tolerationSeconds int64) (scenario string, err error) {
	p, err := r.make(data, r.Length)
	if err != nil {
		return "", fmt.Errorf("record %s: %w", r.Name, err)
	}
	if r.Half > 0 {
		p.half(r.Half)
	}
	if r.Alarm != nil {
		p.cut(0, min(day, p.until))
	}
	finish(p.pods, tolerationSeconds)
	var text strings.Builder
	text.WriteString("cluster: {files: [nodes.json, pods.json]}\nreschedule: {after: 10s}\n")
	fmt.Fprintf(&text, "until: %s\nheartbeat: {statusInterval: %s}\n", p.until, r.reports())
	err = errors.Join(
		write(to, "nodes.json", v1.NodeList{TypeMeta: list, Items: p.nodes}),
		write(to, "pods.json", v1.PodList{TypeMeta: list, Items: p.pods}),
	)
	var alarms strings.Builder
	if r.Alarm != nil {
		r.Alarm.write(&alarms, p)
	}
	for i, t := range p.traces {
		name := fmt.Sprintf("trace-%d.json", i)
		err = errors.Join(err, write(to, name, map[string]any{"metadata": map[string]int{"gap_seconds": int(t.gap / time.Second)}, "data": t.data}))
		if i == 0 {
			text.WriteString("availability:\n")
		}
		fmt.Fprintf(&text, "- {zone: %s, file: %s}\n", t.zone, name)
	}
	text.WriteString("events:\n" + alarms.String())
	for _, e := range p.events {
		action := "fail"
		if e.recover {
			action = "recover"
		}
		fmt.Fprintf(&text, "- {at: %s, %s: {nodes: [%s]}}\n", e.at, action, strings.Join(e.nodes, ", "))
	}
	scenario = filepath.Join(to, r.Name+".yaml")
	return scenario, errors.Join(err, os.WriteFile(scenario, []byte(text.String()), 0o600))
}

// reports is the time between a node's status reports. Rare ones save time and change no outcome: leases tell the same, and a node
// that is back reports at once.
func (r Record) reports() time.Duration {
	if r.Half > 0 {
		return day
	}
	return 5 * time.Minute
}

func write(dir, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(dir, name), text, 0o600)
}

func read(dir, name string, into any) error {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
