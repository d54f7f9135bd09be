package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func main() {
	testing.Init()
	sizes := flag.String("sizes", "1000,5000,100000", "numbers of nodes or items; timed work takes half as many again from 100,000 on")
	runs := flag.Int("runs", 5, "measure each side so often and keep the least")
	batch := flag.Duration("batch", 100*time.Millisecond, "repeat short operations until they take so long")
	only := flag.String("only", "", "measure what matches: queue, work, match, pass, zone")
	flag.Parse()
	out := os.Stdout
	os.Stdout = os.Stderr // for the output of package testing
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
			began := time.Now()
			for _, r := range table(out, setting{t, *runs, *batch}, ns, regexp.MustCompile(*only)) {
				if figures := r.behind(); figures != nil {
					t.Errorf("behind in %s: %s", strings.Join(figures, ", "), r)
				}
			}
			fmt.Fprintf(os.Stderr, "%s, %s of CPU\n", time.Since(began).Round(time.Second), cpu().Round(time.Second))
		},
	}}, nil, nil)
}
