package fences

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// theMap returns the rows of the map in MIGRATING.md: upstream's names, ours, what else, and the tests that show it.
func theMap(t *testing.T) (rows [][]string) {
	_, text, found := strings.Cut(page(t, "MIGRATING.md"), "\n## The map\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "| `") {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			require.Len(t, cells, 4, line)
			rows = append(rows, cells)
		}
	}
	return rows
}

// Each name of upstream's has its row, once, and there are no others. internal/conformance/names checks the list.
func TestMigratingHasEachNameOfUpstreams(t *testing.T) {
	var names, want []string
	for _, row := range theMap(t) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[0], -1) {
			names = append(names, name[1])
		}
	}
	for _, line := range strings.Split(page(t, "internal/fences/testdata/upstream.txt"), "\n") {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.Fields(line)...)
		}
	}
	slices.Sort(names)
	slices.Sort(want)
	require.Equal(t, want, names)
}

// Whoever comes from an article finds each of its names in a row.
func TestMigratingHasEachNameOfTheArticles(t *testing.T) {
	firsts := "" // cells of upstream's names
	for _, line := range strings.Split(page(t, "MIGRATING.md"), "\n") {
		if cell, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " | "); row && strings.HasPrefix(line, "| ") {
			firsts += cell
		}
	}
	names := 0
	for _, line := range strings.Split(page(t, "internal/fences/testdata/articles.txt"), "\n") {
		if !strings.HasPrefix(line, "#") {
			for _, name := range strings.Fields(line) {
				require.Contains(t, firsts, "`"+name+"`")
				names++
			}
		}
	}
	require.Greater(t, names, 150)
}

// Each name of ours on these pages is exported by our packages, and each row of the map names tests or examples that exist.
func TestMigratingNamesWhatThereIs(t *testing.T) {
	exported, tests := ours(t)
	for _, file := range []string{"MIGRATING.md", "evictor/WHY.md"} {
		for _, name := range regexp.MustCompile(`\b(\w+)\.([A-Z]\w*)`).FindAllStringSubmatch(page(t, file), -1) {
			if exported[name[1]] && name[1] != "compat" { // of a package or a type of ours; compat is an alias there
				require.True(t, exported[name[0]], "%s: %s", file, name[0])
			}
		}
	}
	shown := regexp.MustCompile("`([a-z]+): ((?:Test|Example)\\w*)`")
	for _, row := range theMap(t) {
		for _, name := range regexp.MustCompile("`((?:\\w+\\.)?[A-Z]\\w*)`").FindAllStringSubmatch(row[1], -1) {
			require.True(t, exported[name[1]], "%s is none of ours", name[1])
		}
		require.Len(t, shown.FindAllString(row[3], -1), max(1, strings.Count(row[3], "`")/2), "what shows %s", row[0])
	}
	for _, test := range shown.FindAllStringSubmatch(page(t, "MIGRATING.md"), -1) {
		require.Contains(t, tests[test[1]], "func "+test[2]+"(", test[0])
	}
}

// ours returns what our packages export, and the text of their tests by the last element of the package's path.
func ours(t *testing.T) (exported map[string]bool, tests map[string]string) {
	exported, tests = map[string]bool{}, map[string]string{}
	for _, file := range files(t, "*.go") {
		if pkg := path.Base(path.Dir(file)); strings.HasSuffix(file, "_test.go") {
			tests[pkg] += page(t, file)
		} else if !strings.Contains(file, "internal/") {
			export(t, pkg, file, exported)
		}
	}
	for has := range maps.Clone(exported) { // what a type embeds, it has
		if of, embedded, embeds := strings.Cut(has, "<"); embeds {
			for name := range maps.Clone(exported) {
				if member, ok := strings.CutPrefix(name, embedded+"."); ok {
					exported[of+"."+member] = true
				}
			}
		}
	}
	return exported, tests
}

// export notes what a file exports: its package, names alone and after the package, and methods and fields after their type;
// and what a type embeds.
func export(t *testing.T, pkg, file string, names map[string]bool) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, page(t, file), parser.SkipObjectResolution)
	require.NoError(t, err)
	names[pkg] = true
	for _, declaration := range tree.Decls {
		if method, ok := declaration.(*ast.FuncDecl); ok && method.Recv != nil {
			names[first(method.Recv.List[0].Type)+"."+method.Name.Name] = true
			continue
		}
		within := ""
		note := func(all ...*ast.Ident) {
			for _, name := range all {
				if name.IsExported() {
					names[name.Name], names[pkg+"."+name.Name], names[within+"."+name.Name] = true, true, true
				}
			}
		}
		ast.Inspect(declaration, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				note(n.Name)
			case *ast.ValueSpec:
				note(n.Names...)
			case *ast.TypeSpec:
				note(n.Name)
				within = n.Name.Name
			case *ast.Field:
				if note(n.Names...); len(n.Names) == 0 {
					names[within+"<"+first(n.Type)] = true
				}
			}
			_, code := n.(*ast.BlockStmt)
			return !code
		})
	}
}

// first returns the name of a type without stars and parameters.
func first(t ast.Expr) string { return regexp.MustCompile(`\w+`).FindString(types.ExprString(t)) }
