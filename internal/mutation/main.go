// Command mutation changes a package's code in small ways, one at a time, and reports the changes that the package's
// own tests do not notice. Code that they do not reach is reported too. Changes that do not compile are skipped.
//
//	go run ./internal/mutation ./evictor/internal/turns
//
// The working tree is not touched: changes reach the compiler as an overlay.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

var (
	timeout = flag.Duration("timeout", 30*time.Second, "how long the tests may take; what takes longer is noticed")
	workers = flag.Int("workers", 2, "how many changes are tried at a time")
	only    = flag.String("only", "", "a regular expression of file:line:column and text: which changes are tried")
)

func main() {
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: mutation [flags] PACKAGE")
		os.Exit(2)
	}
	if err := run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

// outcome is the result of a change.
type outcome int

const (
	killed outcome = iota
	alive
	invalid
)

func run(pkg string) error {
	if out, err := tests(pkg, "-count=1").CombinedOutput(); err != nil {
		return fmt.Errorf("the tests fail as it is: %w\n%s", err, out)
	}
	changes, err := changesIn(pkg)
	if err != nil {
		return err
	}
	outcomes := make([]outcome, len(changes))
	next := make(chan int)
	var wait sync.WaitGroup
	for range *workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range next {
				if outcomes[i] = try(pkg, changes[i]); outcomes[i] == alive {
					fmt.Println("ALIVE", changes[i])
				}
			}
		}()
	}
	for i := range changes {
		next <- i
	}
	close(next)
	wait.Wait()
	var count [invalid + 1]int
	for _, o := range outcomes {
		count[o]++
	}
	all := count[killed] + count[alive]
	fmt.Printf("%s: %d of %d changes killed, %.1f %%; %d do not compile\n", pkg, count[killed], all, 100*float64(count[killed])/float64(max(1, all)), count[invalid])
	return nil
}

func tests(pkg string, args ...string) *exec.Cmd {
	return exec.Command("go", append(append([]string{"test"}, args...), pkg)...)
}

func changesIn(pkg string) (all []change, err error) {
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	out, err := exec.Command("go", "list", "-json=Dir,GoFiles", pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pkg, err)
	}
	var listed struct {
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal(out, &listed); err != nil {
		return nil, err
	}
	for _, file := range listed.GoFiles {
		path := filepath.Join(listed.Dir, file)
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		changes, err := changesOf(path, source)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(changes, func(c change) bool { return !wanted.MatchString(c.String()) })...)
	}
	return all, nil
}

// try runs the package's own tests with the first form of a change that compiles.
func try(pkg string, c change) outcome {
	temporary, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return invalid
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // a temporary directory
	changed, overlay := filepath.Join(temporary, "changed.go"), filepath.Join(temporary, "overlay.json")
	table, err := json.Marshal(map[string]map[string]string{"Replace": {c.path: changed}})
	if err != nil || os.WriteFile(overlay, table, 0o600) != nil {
		return invalid
	}
	for _, form := range c.forms {
		if os.WriteFile(changed, slices.Concat(c.source[:c.from], []byte(form), c.source[c.to:]), 0o600) != nil {
			return invalid
		}
		out, err := tests(pkg, "-overlay", overlay, "-count=1", "-failfast", "-vet=off", "-ldflags=-s -w", "-timeout", timeout.String()).CombinedOutput()
		switch {
		case err == nil:
			return alive
		case !bytes.Contains(out, []byte("[build failed]")) && !bytes.Contains(out, []byte("[setup failed]")):
			return killed
		}
	}
	return invalid
}
