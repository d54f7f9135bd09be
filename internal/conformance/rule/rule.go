// Package rule names the deliberate differences that the comparisons with upstream forgive.
package rule

import (
	"errors"
	"fmt"
	"os"
	"regexp"
)

// Rule is a deliberate difference. Row is the beginning of its row in DIFFERENCES.md.
type Rule struct{ Name, Row string }

// New returns a rule.
func New(name, row string) Rule { return Rule{Name: name, Row: row} }

// page is the path of the table, from the directory of any package beside this one.
const page = "../../../DIFFERENCES.md"

// Check reports each rule whose row is not in the table exactly once. It is for tests of the packages beside this one.
func Check(rules []Rule) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("reading the table of differences: %w", err)
	}
	var faults []error
	for _, r := range rules {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(r.Row) + ` `)
		if n := len(row.FindAll(text, -1)); n != 1 {
			faults = append(faults, fmt.Errorf("rule %s: %d rows begin with %q", r.Name, n, r.Row))
		}
	}
	return errors.Join(faults...)
}
