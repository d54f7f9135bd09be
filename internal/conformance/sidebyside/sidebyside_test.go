package main

import (
	"flag"
	"regexp"
	"strings"
	"testing"
)

// Every measurement runs once, small, and gives both of its figures. What the figures are does not matter here.
func TestEveryRow(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime")
	before := benchtime.Value.String()
	if err := flag.Set("test.benchtime", "20x"); err != nil {
		t.Fatal(err)
	}
	defer flag.Set("test.benchtime", before)
	var out strings.Builder
	table(&out, setting{t, 1}, []int{30}, regexp.MustCompile(""))
	t.Log("\n" + out.String())
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[2:] {
		if strings.Contains(line, "|  |  |") {
			t.Errorf("figures are missing: %s", line)
		}
	}
}
