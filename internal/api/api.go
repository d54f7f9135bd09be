// Package api lists what the packages export, one line per name, so that no change of it goes unnoticed.
//
// The files beside this one, one per package, are the promise. The test compares them with the code. Run it with
// -update to rewrite them, and review the difference. callers.txt says who needs each name.
package api

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Packages returns the directories below root whose packages others can import, with slashes, in order: no commands, no
// internal packages and no test data.
func Packages(root string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || name == "internal" || name == "testdata" || name == "examples") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			relative, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				return err
			}
			found[filepath.ToSlash(relative)] = true
		}
		return nil
	})
	var packages []string
	for dir := range found {
		packages = append(packages, dir)
	}
	slices.Sort(packages)
	return packages, err
}

// File returns the name of the file with the lines of the package in that directory.
func File(dir string) string {
	if dir == "." {
		return "evictkit.txt"
	}
	return strings.ReplaceAll(dir, "/", ".") + ".txt"
}

// Lines returns a line for each name that the package in the directory exports, in order, and none for a command. A
// name that is declared once per system or Go version has one line.
func Lines(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	lines := map[string]bool{}
	var declarations []ast.Decl
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if file.Name.Name == "main" {
			continue
		}
		declarations = append(declarations, file.Decls...)
	}
	for _, line := range append(declaredLines(set, declarations), promotedLines(set, declarations)...) {
		lines[line] = true
	}
	sorted := make([]string, 0, len(lines))
	for line := range lines {
		sorted = append(sorted, line)
	}
	slices.Sort(sorted)
	return sorted, nil
}

func declaredLines(set *token.FileSet, declarations []ast.Decl) (lines []string) {
	for _, declaration := range declarations {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if line, ok := funcLine(set, d); ok {
				lines = append(lines, line)
			}
		case *ast.GenDecl:
			lines = append(lines, declarationLines(set, d)...)
		}
	}
	return lines
}

// promotedLines returns the methods that exported types promote from embedded unexported types, one level deep, as if
// they were their own. Type parameters have the names that the exported type gives them.
func promotedLines(set *token.FileSet, declarations []ast.Decl) (lines []string) {
	methods := map[string][]*ast.FuncDecl{}
	for _, declaration := range declarations {
		if d, ok := declaration.(*ast.FuncDecl); ok && d.Recv != nil && d.Name.IsExported() {
			name := typeName(d.Recv.List[0].Type)
			methods[name] = append(methods[name], d)
		}
	}
	for _, s := range exportedTypes(declarations) {
		t, ok := s.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range t.Fields.List {
			embedded := typeName(f.Type)
			if len(f.Names) > 0 || ast.IsExported(embedded) {
				continue
			}
			for _, m := range methods[embedded] {
				lines = append(lines, "method (*"+s.Name.Name+arguments(s.TypeParams)+") "+m.Name.Name+signature(set, m.Type))
			}
		}
	}
	return lines
}

func exportedTypes(declarations []ast.Decl) (types []*ast.TypeSpec) {
	for _, declaration := range declarations {
		d, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
				types = append(types, s)
			}
		}
	}
	return types
}

// typeName returns the name of a type of this package, without star and type arguments, and "" for a type of another
// package.
func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	}
	return ""
}

// arguments returns type parameters as a receiver names them.
func arguments(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var names []string
	for _, p := range list.List {
		for _, name := range p.Names {
			names = append(names, name.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func funcLine(set *token.FileSet, d *ast.FuncDecl) (string, bool) {
	if !d.Name.IsExported() {
		return "", false
	}
	if d.Recv == nil {
		return "func " + d.Name.Name + parameters(set, d.Type.TypeParams) + signature(set, d.Type), true
	}
	receiver := text(set, d.Recv.List[0].Type)
	if !ast.IsExported(strings.TrimLeft(receiver, "*(")) {
		return "", false
	}
	return "method (" + receiver + ") " + d.Name.Name + signature(set, d.Type), true
}

func declarationLines(set *token.FileSet, d *ast.GenDecl) (lines []string) {
	var kind ast.Expr // for constants that repeat the previous one's type
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				lines = append(lines, typeLines(set, s)...)
			}
		case *ast.ValueSpec:
			if s.Type != nil || len(s.Values) > 0 {
				kind = s.Type
			}
			lines = append(lines, valueLines(set, d.Tok, s.Names, kind)...)
		}
	}
	return lines
}

// valueLines returns the lines of constants or variables; kind is nil if no type is written.
func valueLines(set *token.FileSet, sort token.Token, names []*ast.Ident, kind ast.Expr) (lines []string) {
	for _, name := range names {
		if !name.IsExported() {
			continue
		}
		line := sort.String() + " " + name.Name
		if kind != nil {
			line += " " + text(set, kind)
		}
		lines = append(lines, line)
	}
	return lines
}

func typeLines(set *token.FileSet, s *ast.TypeSpec) []string {
	head := "type " + s.Name.Name + parameters(set, s.TypeParams)
	if s.Assign.IsValid() {
		return []string{head + " = " + text(set, s.Type)}
	}
	var fields *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		head, fields = head+" struct", t.Fields
	case *ast.InterfaceType:
		head, fields = head+" interface", t.Methods
	default:
		return []string{head + " " + text(set, s.Type)}
	}
	lines := []string{head}
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			lines = append(lines, head+", embedded "+text(set, f.Type))
		}
		for _, name := range f.Names {
			if !name.IsExported() {
				continue
			}
			if method, ok := f.Type.(*ast.FuncType); ok && strings.HasSuffix(head, " interface") {
				lines = append(lines, head+", "+name.Name+signature(set, method))
				continue
			}
			line := head + ", " + name.Name + " " + text(set, f.Type)
			if f.Tag != nil {
				line += " " + f.Tag.Value
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// signature returns a function's parameters and results without names, which are no promise.
func signature(set *token.FileSet, f *ast.FuncType) string {
	types := func(list *ast.FieldList) string {
		var all []string
		for _, p := range list.List {
			for range max(1, len(p.Names)) {
				all = append(all, text(set, p.Type))
			}
		}
		return strings.Join(all, ", ")
	}
	line := "(" + types(f.Params) + ")"
	if f.Results == nil {
		return line
	}
	if results := types(f.Results); f.Results.NumFields() > 1 {
		line += " (" + results + ")"
	} else {
		line += " " + results
	}
	return line
}

func parameters(set *token.FileSet, list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var all []string
	for _, p := range list.List {
		for _, name := range p.Names {
			all = append(all, name.Name+" "+text(set, p.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func text(set *token.FileSet, node ast.Expr) string {
	if f, ok := node.(*ast.FuncType); ok {
		return "func" + signature(set, f)
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, set, node); err != nil {
		return fmt.Sprint(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
