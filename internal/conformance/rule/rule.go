// Package rule names the deliberate differences that the comparisons with upstream forgive.
package rule

import (
	"errors"
	"fmt"
	"os"
	"regexp"
)

// Rule is a deliberate difference. Row is the first line of what its row in the table of package evictor says.
type Rule struct{ Name, Row string }

// New is the rule of that name.
func New(name, row string) Rule { return Rule{Name: name, Row: row} }

// page is where the table is, from the directory of any package beside this one.
const page = "../../../evictor/doc.go"

// Check reports each rule whose row does not stand in the table exactly once. It is for tests of the packages beside this one.
func Check(rules []Rule) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("reading the table of differences: %w", err)
	}
	var faults []error
	for _, r := range rules {
		row := regexp.MustCompile(`(?m)^//\t` + regexp.QuoteMeta(r.Row) + `(  |$)`)
		if n := len(row.FindAll(text, -1)); n != 1 {
			faults = append(faults, fmt.Errorf("rule %s: %d rows begin with %q", r.Name, n, r.Row))
		}
	}
	return errors.Join(faults...)
}
