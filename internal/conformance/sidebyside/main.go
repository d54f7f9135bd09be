package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// row is one line of the table.
type row struct {
	work           string
	n              int // 0: the work has no size
	ours, upstream measured
}

// setting is what the measurements share.
type setting struct {
	*testing.T
	runs int
}

// measurements make the rows of one size, or of all sizes where sized is false.
var measurements = []struct {
	name  string
	sized bool
	run   func(s setting, n int) []row
}{
	{"queue", true, queueRows},
	{"work", true, workRows},
	{"match", false, matchRows},
	{"pass", true, passRows},
	{"zone", true, zoneRows},
}

func main() {
	testing.Init()
	sizes := flag.String("sizes", "1000,5000,100000", "numbers of nodes or items; timed work takes half as many again from 100,000 on")
	runs := flag.Int("runs", 3, "measure so many times and keep the least")
	only := flag.String("only", "", "measure what matches: queue, work, match, pass, zone")
	flag.Parse()
	out := os.Stdout
	os.Stdout = os.Stderr // for what testing says
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "sidebyside",
		F: func(t *testing.T) {
			var ns []int
			for _, text := range strings.Split(*sizes, ",") {
				n, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				ns = append(ns, n)
			}
			table(out, setting{t, *runs}, ns, regexp.MustCompile(*only))
		},
	}}, nil, nil)
}

// table measures and prints each row as soon as it is known.
func table(w io.Writer, s setting, sizes []int, only *regexp.Regexp) {
	klog.SetLogger(logr.Discard())
	fmt.Fprintln(w, "| work | n | ours | upstream | upstream / ours |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- |")
	for _, m := range measurements {
		if !only.MatchString(m.name) {
			continue
		}
		ns := sizes
		if !m.sized {
			ns = []int{0}
		}
		for _, n := range ns {
			for _, r := range m.run(s, n) {
				fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", r.work, thousands(r.n), r.ours.text, r.upstream.text, ratio(r))
			}
		}
	}
}

func ratio(r row) string {
	switch q := r.upstream.value / r.ours.value; {
	case r.ours.value <= 0 || r.upstream.value <= 0:
		return ""
	case q < 10:
		return fmt.Sprintf("%.1f", q)
	default:
		return fmt.Sprintf("%.0f", q)
	}
}

func thousands(n int) string {
	switch {
	case n == 0:
		return ""
	case n < 1000:
		return strconv.Itoa(n)
	default:
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
}
