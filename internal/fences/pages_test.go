package fences

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever opens the page of a type with many methods reads which ones to begin with.
func TestPagesOfTypesSayWhichMethodsComeFirst(t *testing.T) {
	plain := []string{"String", "Error", "Unwrap", "MarshalText", "UnmarshalText", "MarshalLog"} // nobody looks for these
	for _, page := range typePages(t) {
		methods, named := 0, 0
		for _, method := range page.Methods {
			if !slices.Contains(plain, method.Name) {
				methods++
			}
			named += strings.Count(page.Doc, "["+page.Name+"."+method.Name+"]")
		}
		if methods > 2 {
			require.NotZero(t, named, "%s has %d methods and does not say which most callers want first", page.Name, methods)
			require.LessOrEqual(t, named, 5, "%s names too many methods", page.Name)
		}
	}
}

// go doc shows a group of constants as its first one and three dots. So the page of their type names each.
func TestPagesOfTypesNameTheirConstants(t *testing.T) {
	for _, page := range typePages(t) {
		for _, group := range page.Consts {
			for _, name := range group.Names {
				if ast.IsExported(name) {
					require.Contains(t, page.Doc, "["+name+"]", page.Name)
				}
			}
		}
	}
}

// Every package says in one sentence what it is (golangci-lint asks the same of each exported name), and the first page names
// each that stands directly below the root or evictor.
func TestEachPackageHasASentence(t *testing.T) {
	trees, _ := publicTrees(t)
	first := page(t, "doc.go")
	for _, dir := range slices.Sorted(maps.Keys(trees)) {
		require.True(t, slices.ContainsFunc(trees[dir], func(tree *ast.File) bool { return tree.Doc != nil }), "%s needs a doc.go", dir)
		if above := path.Dir(dir); above == "." && dir != "." || above == "evictor" {
			require.True(t, regexp.MustCompile(`(?m)^//   - `+dir+`[:,]`).MatchString(first), "add a line about %s to the list in doc.go", dir)
		}
	}
}

// publicTrees returns the code that programs import, by package.
func publicTrees(t *testing.T) (trees map[string][]*ast.File, set *token.FileSet) {
	trees, set = map[string][]*ast.File{}, token.NewFileSet()
	for _, file := range files(t, "*.go") {
		switch dir := path.Dir(file); {
		case strings.HasSuffix(file, "_test.go"), strings.Contains(file, "internal/"), strings.Contains(file, "testdata/"):
		case strings.HasPrefix(dir, "examples"):
		default:
			tree, err := parser.ParseFile(set, file, page(t, file), parser.ParseComments)
			require.NoError(t, err)
			trees[dir] = append(trees[dir], tree)
		}
	}
	return trees, set
}

// typePages returns what go doc knows of each exported type that programs import.
func typePages(t *testing.T) (pages []*doc.Type) {
	trees, set := publicTrees(t)
	for dir, trees := range trees {
		pkg, err := doc.NewFromFiles(set, trees, module+"/"+dir)
		require.NoError(t, err)
		pages = append(pages, pkg.Types...)
	}
	require.Greater(t, len(pages), 100)
	return pages
}
