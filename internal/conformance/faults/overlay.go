// Package faults puts deliberate faults into our packages, to see which of them a comparison reports:
//
//	overlay, err := faults.Overlay("../../..", t.TempDir())
//	go test -overlay "$overlay" -tags faults ...
//
// A program that was built like this has all of them, and [fault.Set] of the package that the overlay adds chooses one.
package faults

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Fault is something that one of our packages does otherwise.
type Fault struct {
	Name    string
	Changes []Change
}

// Change puts another expression in the place of one that the function has once. Is may name that one as $. Both are
// evaluated if it is a Value, and only the one that counts if it is a condition.
type Change struct {
	In, Function string // the directory, from the root of the repository; and T.F for a method
	Was, Is      string
	Value        bool
}

//go:embed fault.go.txt
var chosen []byte

// edit is a change of a file.
type edit struct {
	from, to, number int
	Change
}

// Overlay writes the changed files and the overlay that names them to a directory, and returns the overlay's path. A change
// that does not apply is an error. A fault's number is its place in All, plus one.
func Overlay(root, to string) (path string, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return "", err
	}
	files, edits := map[string][]byte{}, map[string][]edit{}
	var faults []error
	for i, fault := range All {
		for _, change := range fault.Changes {
			file, source, e, err := locate(root, change)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", fault.Name, err))
				continue
			}
			e.number, files[file] = i+1, source
			edits[file] = append(edits[file], e)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return "", err
	}
	replaced := map[string]string{}
	write := func(file string, text []byte) error {
		at := filepath.Join(to, fmt.Sprintf("%d.go", len(replaced)))
		replaced[file] = at
		return os.WriteFile(at, text, 0o600)
	}
	err = write(filepath.Join(root, "internal/fault/fault.go"), chosen)
	for file, source := range files {
		err = errors.Join(err, write(file, changed(source, edits[file])))
	}
	text, e := json.Marshal(map[string]any{"Replace": replaced})
	path = filepath.Join(to, "overlay.json")
	return path, errors.Join(err, e, os.WriteFile(path, text, 0o600))
}

// locate finds the expression.
func locate(root string, c Change) (path string, source []byte, e edit, err error) {
	paths, err := filepath.Glob(filepath.Join(root, c.In, "*.go"))
	if err != nil {
		return "", nil, e, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return "", nil, e, err
		}
		found, has, err := within(path, source, c)
		switch {
		case err != nil:
			return "", nil, e, err
		case has && len(found) != 1:
			return "", nil, e, fmt.Errorf("%s of %s has %d times %s", c.Function, c.In, len(found), c.Was)
		case has:
			return path, source, found[0], nil
		}
	}
	return "", nil, e, fmt.Errorf("%s has no function %s", c.In, c.Function)
}

// within finds it in a file, if that has the function.
func within(path string, source []byte, c Change) (found []edit, has bool, err error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, 0)
	if err != nil {
		return nil, false, err
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || called(f) != c.Function {
			continue
		}
		has = true
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if x, ok := n.(ast.Expr); ok {
				from, to := files.Position(x.Pos()).Offset, files.Position(x.End()).Offset
				if string(source[from:to]) == c.Was {
					found = append(found, edit{from: from, to: to, Change: c})
				}
			}
			return true
		})
	}
	return found, has, nil
}

// called is a function's name, after that of its receiver's type.
func called(f *ast.FuncDecl) string {
	name := f.Name.Name
	if f.Recv == nil {
		return name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if of, ok := t.(*ast.Ident); ok {
		return of.Name + "." + name
	}
	return name
}

// changed makes all edits of a file.
func changed(source []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	text := rewritten(string(source), 0, len(source), edits)
	at := strings.Index(text, "\n") + 1
	if i := strings.Index(text, "\npackage "); i >= 0 && !strings.HasPrefix(text, "package ") {
		at = i + 1 + strings.Index(text[i+1:], "\n") + 1
	}
	return []byte(text[:at] + "import \"github.com/evictkit/evictkit/internal/fault\"\n" + text[at:])
}

// rewritten makes those between two places, which may lie in each other.
func rewritten(source string, from, to int, edits []edit) string {
	var text strings.Builder
	for len(edits) > 0 {
		first, same := edits[0], 1
		for same < len(edits) && edits[same].from == first.from && edits[same].to == first.to {
			same++
		}
		inner := same
		for inner < len(edits) && edits[inner].to <= first.to {
			inner++
		}
		text.WriteString(source[from:first.from])
		was := rewritten(source, first.from, first.to, edits[same:inner])
		for _, e := range edits[:same] {
			is := strings.ReplaceAll(e.Is, "$", "("+e.Was+")")
			if e.Value {
				was = fmt.Sprintf("fault.Pick(%d, %s, %s)", e.number, was, is)
			} else {
				was = fmt.Sprintf("(fault.On(%d) && (%s) || !fault.On(%d) && (%s))", e.number, is, e.number, was)
			}
		}
		text.WriteString(was)
		from, edits = first.to, edits[inner:]
	}
	text.WriteString(source[from:to])
	return text.String()
}
