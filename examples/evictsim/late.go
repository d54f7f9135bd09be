package main

import (
	"context"
	"fmt"
	"io"

	"github.com/evictkit/evictkit/examples/scenariofile"
)

// warnOfLate says before the run which events never happen because the scenario ends before them, each warning once. It is no
// error, as a sweep may vary the end.
func warnOfLate(jobs []*job, stderr io.Writer) error {
	told := make(map[string]bool)
	for _, j := range jobs {
		s, err := j.complete()
		if err != nil {
			return err
		}
		for _, late := range lateEvents(s) {
			if text := fmt.Sprintf("warning: %s: %s never happens: the scenario ends at %s", j.name, late, short(s.Until)); !told[text] {
				told[text] = true
				fmt.Fprintln(stderr, text)
			}
		}
	}
	return nil
}

// lateEvents names the events after the end, those of repeat by their first round. A repeat that begins after the end is one.
func lateEvents(s *scenariofile.Scenario) (late []string) {
	if s.Until <= 0 {
		return nil // an error says so
	}
	played, _ := s.Simulation(context.Background(), nil)
	for _, e := range played.Plan() {
		if e.At <= s.Until || e.Round > 1 {
			continue
		}
		if begins := s.Events[e.Number-1].At; begins > s.Until {
			late = append(late, fmt.Sprintf("event %d (at %s)", e.Number, short(begins)))
		} else {
			late = append(late, fmt.Sprintf("event %d of the repeat in event %d (at %s)", e.Inner, e.Number, short(e.At)))
		}
	}
	return late
}
