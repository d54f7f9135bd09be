package main

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// row is one line of the table: the same work, n times or on n things, by both sides.
type row struct {
	work           string
	n              int
	ours, upstream cost
}

// setting is common to all measurements.
type setting struct {
	*testing.T
	runs  int           // how often to measure; the least counts
	batch time.Duration // of operations that are too short for a clock
}

// scenes returns how often to measure what plays in virtual time. The large ones take minutes.
func (s setting) scenes(n int) int {
	if n > large {
		return 1
	}
	return min(s.runs, 3)
}

// measurements make the rows of one size.
var measurements = []struct {
	name string
	run  func(s setting, n int) []row
}{
	{"queue", queueRows},
	{"work", workRows},
	{"match", matchRows},
	{"pass", passRows},
	{"zone", zoneRows},
}

// table prints each row as soon as it is measured.
func table(w io.Writer, s setting, sizes []int, only *regexp.Regexp) (rows []row) {
	klog.SetLogger(logr.Discard())
	fmt.Fprintln(w, "| ours : upstream (upstream / ours) | n | CPU time | allocations | bytes |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- |")
	for _, m := range measurements {
		if !only.MatchString(m.name) {
			continue
		}
		for _, n := range sizes {
			for _, r := range m.run(s, n) {
				fmt.Fprintln(w, r)
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func (r row) String() string {
	n := strconv.Itoa(r.n)
	if r.n >= 1000 {
		n = fmt.Sprintf("%d,%03d", r.n/1000, r.n%1000)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", r.work, n,
		proportion(r.ours.cpu, r.upstream.cpu, duration),
		proportion(r.ours.allocations, r.upstream.allocations, amount),
		proportion(r.ours.bytes, r.upstream.bytes, size))
}

func proportion(ours, upstream float64, write func(float64) string) string {
	if math.IsNaN(ours) || math.IsNaN(upstream) {
		return ""
	}
	text := write(ours) + " : " + write(upstream)
	if write(ours) == write(0) {
		return text
	}
	return text + " (" + strings.TrimSpace(amount(upstream/ours)) + ")"
}

// behind returns the figures in which ours is not below upstream's.
func (r row) behind() (figures []string) {
	if r.ours.cpu >= r.upstream.cpu {
		figures = append(figures, "CPU time")
	}
	return append(figures, r.larger()...)
}

// larger is behind without the time.
func (r row) larger() (figures []string) {
	for _, f := range []struct {
		name           string
		ours, upstream float64
	}{{"allocations", r.ours.allocations, r.upstream.allocations}, {"bytes", r.ours.bytes, r.upstream.bytes}} {
		if f.ours >= max(f.upstream, 1e-3) {
			figures = append(figures, f.name)
		}
	}
	return figures
}
