package api

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked are the packages that callers.txt covers.
var asked = []string{"zone", "health", "ratelimitqueue", "timedworker", "taints", "evictor/simulation"}

// Every exported name has a caller in callers.txt, and the file lists no name that does not exist.
func TestEveryNameHasACaller(t *testing.T) {
	var names []string
	for _, dir := range asked {
		lines, err := Lines(filepath.Join(root, dir))
		require.NoError(t, err)
		names = append(names, namesOf(dir, lines)...)
	}
	text, err := os.ReadFile("callers.txt")
	require.NoError(t, err)
	for _, fault := range faultsOf(string(text), names) {
		t.Error("callers.txt: " + fault)
	}
}

var (
	methodLine = regexp.MustCompile(`^method \(\*?(\w+)[^)]*\) (\w+)`)
	memberLine = regexp.MustCompile(`^type (\w+)(?:\[[^]]*\])? (?:struct|interface), (?:embedded \*?(?:\w+\.)?)?(\w+)`)
	otherLine  = regexp.MustCompile(`^\w+ (\w+)`)
)

// namesOf returns the names in a package's lines, as package.Name or package.Type.Name.
func namesOf(pkg string, lines []string) (names []string) {
	for _, line := range lines {
		name := ""
		if m := methodLine.FindStringSubmatch(line); m != nil {
			name = m[1] + "." + m[2]
		} else if m := memberLine.FindStringSubmatch(line); m != nil {
			if m[2][0] >= 'a' {
				continue // an embedded unexported type; its methods have lines
			}
			name = m[1] + "." + m[2]
		} else {
			name = otherLine.FindStringSubmatch(line)[1]
		}
		names = append(names, pkg+"."+name)
	}
	return names
}

// faultsOf returns the names that no line of the text covers, and the faults of its lines.
func faultsOf(text string, names []string) (faults []string) {
	seen, found := map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		patterns, who, _ := strings.Cut(line, ":")
		if strings.TrimSpace(who) == "" {
			faults = append(faults, "nobody is named in: "+line)
		}
		for _, pattern := range strings.Fields(patterns) {
			matched := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !matches(pattern, name) })
			if len(matched) == 0 {
				faults = append(faults, pattern+" matches no exported name")
			}
			if seen[pattern] {
				faults = append(faults, pattern+" is there twice")
			}
			seen[pattern] = true
			for _, name := range matched {
				found[name] = true
			}
		}
	}
	for _, name := range names {
		if !found[name] {
			faults = append(faults, "nobody asks for "+name)
		}
	}
	return faults
}

// matches reports whether the pattern matches the name; a * does not match a dot.
func matches(pattern, name string) bool {
	slashes := strings.NewReplacer(".", "/")
	ok, err := path.Match(slashes.Replace(pattern), slashes.Replace(name))
	return ok && err == nil
}

func TestCallersFaults(t *testing.T) {
	lines := []string{
		"const One E", "func New[K comparable](int) *T[K, int]", "method (*T[K, V]) Do(K, ...V) (int, error)", "method (E) DoAt() string",
		"type I interface", "type I interface, M(int) string", "type T[K comparable, V any] struct", "type T[K comparable, V any] struct, Key K",
		"type T[K comparable, V any] struct, embedded *b.Base[K]", "type T[K comparable, V any] struct, embedded core[K, V]", "var V int",
	}
	names := namesOf("p", lines)
	require.Equal(t, []string{"p.One", "p.New", "p.T.Do", "p.E.DoAt", "p.I", "p.I.M", "p.T", "p.T.Key", "p.T.Base", "p.V"}, names)
	require.Empty(t, faultsOf("# here: p.None\n\np.New p.?: the evictor\np.One: Karmada\np.*.*: tests: and more\n", names))
	require.Equal(t, []string{
		"nobody is named in: p.New: ", "q.* matches no exported name", "p.[ matches no exported name", "p.T is there twice",
		"nobody asks for p.T.Do", "nobody asks for p.T.Key", "nobody asks for p.T.Base",
	}, faultsOf("p.New: \nq.* p.T: x\np.[ p.T p.One p.V: x\np.I p.I.* p.*.*At: x", names))
}
