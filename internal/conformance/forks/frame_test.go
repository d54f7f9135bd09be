package forks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/evictkit/evictkit"

// swap says what of a project is swapped.
type swap struct {
	variable string   // of the environment: where the checkout is
	module   string   // theirs
	commit   string   // of which the figures are, its first 12 digits
	testdata string   // ours: files by their place in the checkout
	packages []string // whose tests run
	uses     []string // modules of ours, by their folders
	out      []string // of their tests, those that are left out: private names that they read are gone
}

// checkout is a project's checkout, which is only read, and what is swapped in it.
type checkout struct {
	swap
	t     *testing.T
	dir   string
	work  string
	files map[string][]byte // by their place in the checkout; nil if removed
}

// run swaps, runs their tests before and after, and compares.
func (s swap) run(t *testing.T, edit func(c *checkout)) {
	dir := os.Getenv(s.variable)
	if dir == "" {
		t.Skipf("%s names no checkout of %s", s.variable, s.module)
	}
	c := &checkout{swap: s, t: t, dir: dir, work: t.TempDir(), files: map[string][]byte{}}
	if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || !strings.Contains(string(text), "module "+s.module+"\n") {
		t.Fatalf("%s: %s is no checkout of %s: %v", s.variable, dir, s.module, err)
	}
	if !filepath.IsAbs(dir) {
		t.Fatalf("%s: %s has to be an absolute path", s.variable, dir)
	}
	c.add(true)
	before := c.play("before")
	edit(c)
	c.add(false)
	code, tests := c.lines()
	after := c.play("after")
	c.compare(before, after)
	row := fmt.Sprintf("| %s | %d of %d (%d with subtests) |", code, after.top(), before.top(), len(after.passed))
	if tests != (change{}) {
		row = fmt.Sprintf("| %s; of tests %s | %d of %d (%d with subtests) |", code, tests, after.top(), before.top(), len(after.passed))
	}
	rows := []string{row}
	for _, what := range before.measured {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", what, before.figures[what], after.figures[what]))
	}
	t.Logf("%s\n%s", s.module, strings.Join(rows, "\n"))
	c.pinned(rows)
}

// change counts lines.
type change struct{ removed, added int }

func (c change) String() string { return fmt.Sprintf("%d lines removed, %d added", c.removed, c.added) }

// compare fails for each test of theirs that passes only before the swap, unless it is left out.
func (c *checkout) compare(before, after played) {
	if len(before.passed) == 0 {
		c.t.Fatalf("no test passes before the swap:\n%s", before.failed)
	}
	for _, test := range slices.Sorted(maps.Keys(before.passed)) {
		_, name, _ := strings.Cut(test, " ")
		top, _, _ := strings.Cut(name, "/")
		if out := slices.Contains(c.out, top); !out && !after.passed[test] {
			c.t.Errorf("%s passed before and does not afterwards", test)
		}
	}
	if c.t.Failed() {
		c.t.Log(after.failed)
	}
	for _, name := range c.out {
		if !before.has(name) {
			c.t.Errorf("%s is left out, but is no test of theirs", name)
		}
	}
}

// pinned looks for the rows in MIGRATING.md, if the checkout is at the commit of that page's figures.
func (c *checkout) pinned(rows []string) {
	head, err := exec.Command("git", "-C", c.dir, "rev-parse", "HEAD").Output()
	if err != nil || !strings.HasPrefix(string(head), c.commit) {
		c.t.Logf("the figures are not compared with MIGRATING.md: this is not commit %s", c.commit)
		return
	}
	page, err := os.ReadFile(filepath.Join(root(c.t), "MIGRATING.md"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, row := range rows {
		if !strings.Contains(string(page), row) {
			c.t.Errorf("MIGRATING.md does not say: %s", row)
		}
	}
}

// file opens a file of theirs to edit it, and close puts it back.
func (c *checkout) file(name string, edit func(f *file)) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	f := parse(c.t, name, text)
	edit(f)
	c.files[name] = f.done()
}

// added adds one of the files with which forks replace theirs.
func (c *checkout) added(name, as string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(root(c.t), "evictor/compat/testdata/added", name))
	if err != nil {
		c.t.Fatal(err)
	}
	c.files[as] = text
}

// remove removes files.
func (c *checkout) remove(names ...string) {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err != nil {
			c.t.Fatal(err)
		}
		c.files[name] = nil
	}
}

// add adds either our tests, which measure, or our other files.
func (c *checkout) add(tests bool) {
	from := os.DirFS(filepath.Join("testdata", c.testdata))
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") != tests {
			return err
		}
		c.files[name], err = fs.ReadFile(from, name)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// lines counts the lines that change in files without and with tests of theirs.
func (c *checkout) lines() (code, tests change) {
	for name, text := range c.files {
		of := &code
		if strings.HasSuffix(name, "_test.go") {
			of = &tests
			if _, err := os.Stat(filepath.Join("testdata", c.testdata, name)); err == nil {
				continue // ours measures
			}
		}
		file := c.difference(name, text)
		of.removed += file.removed
		of.added += file.added
	}
	return code, tests
}

// difference returns how many lines of a file change, and logs them.
func (c *checkout) difference(name string, text []byte) (lines change) {
	theirs, ours := filepath.Join(c.dir, name), c.write(filepath.Join("swapped", name), text)
	if _, err := os.Stat(theirs); err != nil {
		theirs = os.DevNull
	}
	diff := exec.Command("git", "diff", "--no-index", "--no-color", "-U0", "--", theirs, ours)
	text, _ = diff.Output() // it fails if there is a difference
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
		case strings.HasPrefix(line, "-"):
			lines.removed++
		case strings.HasPrefix(line, "+"):
			lines.added++
		}
	}
	c.t.Logf("%s: %s\n%s", name, lines, text)
	return lines
}

// write writes a file below the working folder and returns its path.
func (c *checkout) write(name string, text []byte) string {
	c.t.Helper()
	to := filepath.Join(c.work, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return to
}

// played is what came of a run of their tests.
type played struct {
	passed   map[string]bool // package and test
	failed   string          // what those that did not pass printed
	measured []string        // what tests of ours measured, in their order
	figures  map[string]string
}

// top returns how many passed, without subtests.
func (p played) top() (n int) {
	for test := range p.passed {
		if _, name, _ := strings.Cut(test, " "); !strings.Contains(name, "/") {
			n++
		}
	}
	return n
}

func (p played) has(name string) bool {
	for test := range p.passed {
		if strings.HasSuffix(test, " "+name) {
			return true
		}
	}
	return false
}

// play runs their tests. Some of theirs read the real clock, so what failed on a busy machine gets two more chances.
func (c *checkout) play(name string) (all played) {
	all.passed = map[string]bool{}
	dir, args := c.dir, []string{"test", "-vet=off", "-count=1", "-timeout=20m", "-json"}
	if c.vendors() {
		dir = c.farm(name)
		args = append(args, "-mod=vendor", "-trimpath") // trimpath: or the folder's name keeps Go's cache from working
	} else {
		args = append(args, "-mod=mod", "-modfile="+filepath.Join(c.work, name, "go.mod"))
	}
	c.modfile(name)
	args = append(append(args, "-overlay="+c.overlay(name, dir)), c.packages...)
	for range 3 {
		command := exec.Command("go", args...)
		command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off", "PWD="+dir)
		text, err := command.CombinedOutput()
		all.measured, all.figures, all.failed = nil, map[string]string{}, ""
		all.read(c.t, text)
		if err == nil || len(all.passed) == 0 {
			break
		}
	}
	return all
}

// read reads what go test -json prints.
func (p *played) read(t *testing.T, text []byte) {
	printed := map[string]string{}
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, len(text)+1)
	for scanner.Scan() {
		var event struct{ Action, Package, ImportPath, Test, Output string }
		if json.Unmarshal(scanner.Bytes(), &event) != nil {
			p.failed += scanner.Text() + "\n" // a build that failed
			continue
		}
		test := event.Package + event.ImportPath + " " + event.Test
		switch event.Action {
		case "output", "build-output":
			printed[test] += event.Output
		case "fail", "build-fail":
			p.failed += printed[test]
		case "pass":
			if event.Test == "" {
				break
			}
			if strings.Contains(printed[test], "MEASURED ") {
				p.measure(printed[test])
			} else {
				p.passed[test] = true
			}
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
}

// measure keeps what a test of ours logged.
func (p *played) measure(printed string) {
	for line := range strings.Lines(printed) {
		if _, line, found := strings.Cut(line, "MEASURED "); found {
			what, figure, _ := strings.Cut(strings.TrimSpace(line), ": ")
			p.measured = append(p.measured, what)
			p.figures[what] = figure
		}
	}
}

// modfile writes the go.mod with which their tests run. After the swap it requires ours.
func (c *checkout) modfile(name string) {
	c.t.Helper()
	for _, of := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(c.dir, of))
		if err != nil {
			c.t.Fatal(err)
		}
		c.write(filepath.Join(name, of), text)
	}
	if name == "after" {
		edit := []string{"mod", "edit"}
		for _, use := range c.uses {
			of, from := module+use, root(c.t)+use
			edit = append(edit, "-require="+of+"@v0.0.0", "-replace="+of+"@v0.0.0="+from)
		}
		c.command(c.dir, "go", append(edit, filepath.Join(c.work, name, "go.mod"))...)
	}
}

// vendors reports whether the checkout brings its dependencies along.
func (c *checkout) vendors() bool {
	_, err := os.Stat(filepath.Join(c.dir, vendored))
	return err == nil
}

const vendored = "vendor/modules.txt"

// farm makes a folder of links to what the checkout has, because Go does not read an overlay of what is vendored.
func (c *checkout) farm(name string) string {
	c.t.Helper()
	to := filepath.Join(c.work, name)
	for _, folder := range []string{"", "vendor", "vendor/github.com"} { // those that get something of ours
		c.link(folder, filepath.Join(to, folder), "vendor", "github.com", "modules.txt", "go.mod", "go.sum", ".git")
	}
	list, err := os.ReadFile(filepath.Join(c.dir, vendored))
	if err != nil {
		c.t.Fatal(err)
	}
	if name == "after" {
		list = append(list, c.vendor(filepath.Join(name, "vendor"))...)
	}
	c.write(filepath.Join(name, vendored), list)
	return to
}

// link links the entries of a folder of the checkout.
func (c *checkout) link(folder, to string, except ...string) {
	c.t.Helper()
	entries, err := os.ReadDir(filepath.Join(c.dir, folder))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		c.t.Fatal(err)
	}
	for _, entry := range entries {
		if !slices.Contains(except, entry.Name()) {
			if err := os.Symlink(filepath.Join(c.dir, folder, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// vendor copies our packages that the swap imports, and returns their part of the list of what is vendored. What our
// packages need of others has to be vendored already.
func (c *checkout) vendor(to string) (list []byte) {
	c.t.Helper()
	imports := map[string]bool{}
	for _, text := range c.files {
		for _, found := range regexp.MustCompile(`"(`+module+`/[^"]+)"`).FindAllSubmatch(text, -1) {
			imports[string(found[1])] = true
		}
	}
	known := map[string]string{} // the modules of our packages
	for _, use := range slices.Backward(c.uses) {
		args := []string{"list", "-deps", "-f", "{{with .Module}}{{.Path}} {{$.ImportPath}} {{$.Dir}}{{range $.GoFiles}} {{.}}{{end}}{{end}}"}
		for name := range imports {
			if strings.HasPrefix(name, module+use+"/") {
				args = append(args, name)
				delete(imports, name)
			}
		}
		for line := range strings.Lines(c.command(root(c.t)+use, "go", args...)) {
			if words := strings.Fields(line); len(words) > 3 && strings.HasPrefix(words[0], module) {
				known[words[1]] = words[0]
				c.copy(filepath.Join(to, words[1]), words[2], words[3:])
			}
		}
	}
	for _, use := range c.uses {
		list = fmt.Appendf(list, "# %s v0.0.0 => %s\n## explicit; go 1.23.0\n", module+use, root(c.t)+use)
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if known[name] == module+use {
				list = fmt.Appendln(list, name)
			}
		}
	}
	return list
}

// copy copies files from a folder to one below the working folder.
func (c *checkout) copy(to, from string, names []string) {
	c.t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			c.t.Fatal(err)
		}
		c.write(filepath.Join(to, name), text)
	}
}

// overlay writes the table of the files that Go reads in place of theirs.
func (c *checkout) overlay(name, dir string) string {
	c.t.Helper()
	replace := map[string]string{}
	for file, text := range c.files {
		to := ""
		if text != nil {
			to = c.write(filepath.Join("overlay", name, file), text)
		}
		replace[filepath.Join(dir, file)] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.write(filepath.Join("overlay", name, "overlay.json"), text)
}

// command runs a command and returns what it prints.
func (c *checkout) command(dir, name string, args ...string) string {
	c.t.Helper()
	command := exec.Command(name, args...)
	command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off")
	var faults strings.Builder
	command.Stderr = &faults
	text, err := command.Output()
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", command, err, faults.String())
	}
	return string(text)
}

// root returns the path of our checkout.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
