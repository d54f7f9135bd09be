package api

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files anew")

const root = "../.."

// The files list exactly what is exported.
func TestFilesSayWhatIsExported(t *testing.T) {
	packages, err := Packages(root)
	require.NoError(t, err)
	expected := map[string]bool{"callers.txt": true} // see callers_test.go
	for _, dir := range packages {
		lines, err := Lines(filepath.Join(root, dir))
		require.NoError(t, err)
		if len(lines) == 0 {
			continue
		}
		expected[File(dir)] = true
		text := strings.Join(lines, "\n") + "\n"
		if *update {
			require.NoError(t, os.WriteFile(File(dir), []byte(text), 0o644))
			continue
		}
		promised, err := os.ReadFile(File(dir))
		require.NoError(t, err, "a new package: go test ./internal/api -update")
		was, is := strings.Split(string(promised), "\n"), strings.Split(text, "\n")
		for _, line := range without(is, was) {
			t.Errorf("%s: new: %s", dir, line)
		}
		for _, line := range without(was, is) {
			t.Errorf("%s: gone: %s", dir, line)
		}
	}
	if t.Failed() {
		t.Error("if that is meant: go test ./internal/api -update")
	}
	files, err := filepath.Glob("*.txt")
	require.NoError(t, err)
	for _, file := range files {
		if !expected[file] && *update {
			require.NoError(t, os.Remove(file))
			continue
		}
		require.True(t, expected[file], "%s belongs to no package", file)
	}
}

// without returns the lines that are not among the others.
func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}

func TestLines(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(`package a

type T[K comparable, V any] struct { Key K `+"`json:\"key\"`"+`; hidden int; Func func(a, b int) error; error }
type hidden struct{ Field int }
type I interface { M(x int) (y, z string); comparable }
type A = T[int, string]
type E uint8
const ( One E = iota; Two; three )
const Free = 1
var V, w int
func (t *T[K, V]) Method(a, b K, rest ...V) (n int, err error) { return 0, nil }
func (hidden) Method() {}
type Both[K comparable, V any] struct { inner[K, V]; *hidden; error; other.hidden }
type inner[K comparable, V any] struct{}
func (i *inner[K, V]) Promoted(K) V { panic(0) }
func (i *inner[K, V]) private() {}
func New[K comparable](n int) *T[K, int] { return nil }
func unexported() {}
`), 0o600))
	lines, err := Lines(dir)
	require.NoError(t, err)
	require.Equal(t, []string{
		"const Free",
		"const One E",
		"const Two E",
		"func New[K comparable](int) *T[K, int]",
		"method (*Both[K, V]) Method()",
		"method (*Both[K, V]) Promoted(K) V",
		"method (*T[K, V]) Method(K, K, ...V) (int, error)",
		"type A = T[int, string]",
		"type Both[K comparable, V any] struct",
		"type Both[K comparable, V any] struct, embedded *hidden",
		"type Both[K comparable, V any] struct, embedded error",
		"type Both[K comparable, V any] struct, embedded inner[K, V]",
		"type Both[K comparable, V any] struct, embedded other.hidden",
		"type E uint8",
		"type I interface",
		"type I interface, M(int) (string, string)",
		"type I interface, embedded comparable",
		"type T[K comparable, V any] struct",
		"type T[K comparable, V any] struct, Func func(int, int) error",
		"type T[K comparable, V any] struct, Key K `json:\"key\"`",
		"type T[K comparable, V any] struct, embedded error",
		"var V int",
	}, lines)
}

func TestCommandsExportNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package main\n\nfunc Exported() {}\n"), 0o600))
	lines, err := Lines(dir)
	require.NoError(t, err)
	require.Empty(t, lines)
	_, err = Lines(filepath.Join(dir, "missing"))
	require.Error(t, err)
}
