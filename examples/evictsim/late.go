package main

import (
	"fmt"
	"io"

	"github.com/evictkit/evictkit/examples/scenariofile"
)

// warnOfLate says before the run which events never happen because the scenario ends before them, each warning once. It is no
// error, as a sweep may vary the end.
func warnOfLate(jobs []*job, stderr io.Writer) error {
	told := make(map[string]bool)
	for _, j := range jobs {
		s, err := scenariofile.Complete(j.name, j.text, j.dir, j.sets...)
		if err != nil {
			return ofInput(err)
		}
		for i := range s.Events {
			text := fmt.Sprintf("warning: %s: event %d (at %s) never happens: the scenario ends at %s", j.name, i+1, short(s.Events[i].At), short(s.Until))
			if s.Until > 0 && s.Events[i].At > s.Until && !told[text] {
				told[text] = true
				fmt.Fprintln(stderr, text)
			}
		}
	}
	return nil
}
