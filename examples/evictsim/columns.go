package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// columns is a table of text. A column is right-aligned if its title begins with ">".
type columns struct {
	titles []string
	rows   [][]string
}

func (c *columns) add(cells ...string) { c.rows = append(c.rows, cells) }

func (c *columns) write(w io.Writer, indent string) {
	widths := make([]int, len(c.titles))
	for _, row := range append([][]string{c.titles}, c.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(strings.TrimPrefix(cell, ">")))
		}
	}
	for _, row := range append([][]string{c.titles}, c.rows...) {
		line := indent
		for i, cell := range row {
			cell = strings.TrimPrefix(cell, ">")
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if strings.HasPrefix(c.titles[i], ">") {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

func count(i int) string { return humanize.Comma(int64(i)) }

// some returns a number of things, with a plural s.
func some(n int, thing string) string {
	return count(n) + " " + english.PluralWord(n, thing, thing+"s")
}

func short(d time.Duration) string { return simulation.Brief(d) }

// pace formats a rate that is not 0.
func pace(rate float64) string {
	if rate > 1 {
		return number(rate) + " nodes/s"
	}
	return "one node every " + short(time.Duration(float64(time.Second)/rate))
}

// percent formats a share.
func percent(part, whole int) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%d %%", (200*part+whole)/(2*whole))
}

// zoneName is the name of a zone for people; labels may be missing.
func zoneName(name string) string {
	switch {
	case name == ":":
		return "(no zone)"
	case strings.HasPrefix(name, ":"):
		return name[1:]
	default:
		return name
	}
}
