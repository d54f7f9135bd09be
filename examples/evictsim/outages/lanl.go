package outages

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
)

// outage is an outage of one node, in minutes since the start of the record.
type outage struct{ node, start, end int }

// lanl makes one of the clusters of Los Alamos, from as many recorded machines as it had nodes.
func lanl(file string, size int) func(string, time.Duration) (*played, error) {
	return func(data string, length time.Duration) (p *played, err error) {
		all, err := readOutages(filepath.Join(data, "lanl", file))
		if err != nil {
			return nil, err
		}
		p = &played{}
		if p.nodes, p.pods, err = smaller(data, size); err != nil {
			return nil, err
		}
		last := 0
		for _, o := range all {
			if o.node >= size {
				return nil, fmt.Errorf("%s: node %d is outside 0…%d", file, o.node, size-1)
			}
			last = max(last, o.end)
		}
		begin, minutes := 0, last+1
		if n := int(length / time.Minute); length > 0 && n < minutes {
			failures := make([]float64, minutes)
			for _, o := range all {
				failures[o.start]++
			}
			begin = worst(minutes, n, func(minute int) float64 { return failures[minute] })
			minutes = n
		}
		p.until = time.Duration(minutes) * time.Minute
		p.events = events(all, begin, begin+minutes, p.nodes)
		return p, nil
	}
}

// events returns the failures and recoveries between two minutes. Nodes that failed earlier and are still away fail at the
// start.
func events(all []outage, from, to int, nodes []v1.Node) (events []event) {
	type moment struct {
		minute  int
		recover bool
	}
	at := map[moment][]string{}
	for _, o := range all {
		if o.end <= from || o.start >= to {
			continue
		}
		name := nodes[o.node].Name
		fails := moment{max(o.start-from, 0), false}
		at[fails] = append(at[fails], name)
		if o.end < to {
			recovers := moment{o.end - from, true}
			at[recovers] = append(at[recovers], name)
		}
	}
	for m, names := range at {
		slices.Sort(names)
		events = append(events, event{time.Duration(m.minute) * time.Minute, m.recover, names})
	}
	slices.SortFunc(events, func(a, b event) int {
		order := 0 // recoveries come before failures of the same minute
		if a.recover != b.recover {
			if order = 1; a.recover {
				order = -1
			}
		}
		return cmp.Or(cmp.Compare(a.at, b.at), order)
	})
	return events
}

// readOutages reads the outages of a cluster. Outages of one node that overlap or touch are merged.
func readOutages(path string) (merged []outage, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.FieldsPerRecord = 4
	rows, err := reader.ReadAll()
	if err == nil && len(rows) == 0 {
		err = errors.New("the header line is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []outage
	for i, row := range rows[1:] {
		var o outage
		for k, field := range []*int{&o.node, &o.start, &o.end} {
			if *field, err = strconv.Atoi(row[k]); err != nil || *field < 0 {
				return nil, fmt.Errorf("%s: line %d: %q is not a number of 0 or more", path, i+2, row[k])
			}
		}
		if o.start < o.end {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b outage) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	for _, o := range all {
		if n := len(merged); n > 0 && merged[n-1].node == o.node && o.start <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, o.end)
			continue
		}
		merged = append(merged, o)
	}
	return merged, nil
}
