package port

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Without returns a Go file without some of its functions, and without the imports that only they use.
func Without(source string, functions ...string) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	left := len(functions)
	file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		if ok = ok && slices.Contains(functions, f.Name.Name); ok {
			left--
		}
		return ok
	})
	if left != 0 {
		return "", fmt.Errorf("%d of the functions %q are not there", left, functions)
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			g.Specs = slices.DeleteFunc(g.Specs, func(s ast.Spec) bool {
				i, ok := s.(*ast.ImportSpec)
				return ok && !uses(used, i)
			})
		}
	}
	file.Comments = nil
	var b strings.Builder
	err = format.Node(&b, files, file)
	return b.String(), err
}

// uses says whether one of the names by which an import may be used is: its own, or the last part of the path, or of a path
// that ends with a version the part before.
func uses(used map[string]bool, s *ast.ImportSpec) bool {
	if s.Name != nil {
		return used[s.Name.Name]
	}
	whole, err := strconv.Unquote(s.Path.Value)
	name := path.Base(whole)
	version, ok := strings.CutPrefix(name, "v")
	return err == nil && (used[name] || ok && strings.Trim(version, "0123456789") == "" && used[path.Base(path.Dir(whole))])
}
