package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// change replaces a part of a file. The first of its forms that compiles is tried, because without a statement a
// variable may be unused.
type change struct {
	path         string
	source       []byte
	from, to     int // byte offsets
	forms        []string
	line, column int
}

// String returns file:line:column, the old text and the new one.
func (c change) String() string {
	was := strings.Join(strings.Fields(string(c.source[c.from:c.to])), " ")
	if len(was) > 70 {
		was = was[:70] + "…"
	}
	return fmt.Sprintf("%s:%d:%d: %s  =>  %s", filepath.Base(c.path), c.line, c.column, was, c.forms[0])
}

var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.INC: token.DEC, token.DEC: token.INC,
}

// finder collects the changes of one file.
type finder struct {
	path      string
	source    []byte
	positions *token.FileSet
	found     []change
}

func changesOf(path string, source []byte) ([]change, error) {
	f := &finder{path: path, source: source, positions: token.NewFileSet()}
	tree, err := parser.ParseFile(f.positions, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return !f.numbers(n) // the values of an enum mean nothing
		case *ast.ImportSpec, *ast.ArrayType:
			return false
		case ast.Stmt:
			f.statement(n)
		case ast.Expr:
			f.expression(n)
		}
		return true
	})
	return f.found, nil
}

// numbers says whether a declaration uses iota.
func (f *finder) numbers(d *ast.GenDecl) bool {
	return d.Tok == token.CONST && strings.Contains(f.text(d), "iota")
}

func (f *finder) offset(p token.Pos) int { return f.positions.Position(p).Offset }
func (f *finder) text(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}
func (f *finder) replace(n ast.Node, forms ...string) { f.add(n.Pos(), n.End(), forms...) }

func (f *finder) add(from, to token.Pos, forms ...string) {
	at := f.positions.Position(from)
	f.found = append(f.found, change{f.path, f.source, f.offset(from), f.offset(to), forms, at.Line, at.Column})
}

func (f *finder) operator(at token.Pos, op token.Token) {
	if other, ok := swapped[op]; ok {
		f.add(at, at+token.Pos(len(op.String())), other.String())
	}
}

func (f *finder) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.IfStmt:
		f.negate(s.Cond)
	case *ast.ForStmt:
		f.negate(s.Cond)
	case *ast.SwitchStmt:
		f.clauses(s.Body, s.Tag == nil)
	case *ast.TypeSwitchStmt:
		f.clauses(s.Body, false)
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok {
			f.replace(s, "", f.uses(call.Args))
		}
	case *ast.IncDecStmt:
		f.operator(s.TokPos, s.Tok)
		if stored(s.X) {
			f.replace(s, "")
		}
	case *ast.AssignStmt:
		f.operator(s.TokPos, s.Tok)
		f.assignment(s)
	case *ast.ReturnStmt:
		f.early(s)
	case *ast.BranchStmt:
		if s.Tok == token.CONTINUE {
			f.replace(s, "")
		}
	}
}

// clauses negates cases that are conditions, and removes cases that are values or types.
func (f *finder) clauses(body *ast.BlockStmt, conditions bool) {
	for _, s := range body.List {
		clause, ok := s.(*ast.CaseClause)
		if !ok || clause.List == nil {
			continue
		}
		if !conditions {
			f.replace(clause, "")
		}
		for _, e := range clause.List {
			if conditions {
				f.negate(e)
			}
		}
	}
}

// negate skips == and !=, which expression changes in the same way.
func (f *finder) negate(condition ast.Expr) {
	if b, ok := condition.(*ast.BinaryExpr); condition == nil || ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	f.replace(condition, "!("+f.text(condition)+")")
}

// stored says whether the expression is assigned something that outlives the statement.
func stored(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr, *ast.StarExpr:
		return true
	case *ast.IndexExpr:
		return true
	case *ast.ParenExpr:
		return stored(e.X)
	}
	return false
}

func (f *finder) assignment(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN {
		if len(s.Lhs) == 1 && stored(s.Lhs[0]) {
			f.replace(s, "", f.uses(s.Rhs))
		}
		return
	}
	for i, to := range s.Lhs {
		if !stored(to) {
			continue
		}
		if len(s.Lhs) == 1 {
			f.replace(s, "_ = "+f.text(s.Rhs[0]), "", f.uses(append(slices.Clone(s.Rhs), to)))
		} else if len(s.Lhs) != len(s.Rhs) || f.text(s.Rhs[i]) != "nil" {
			f.replace(to, "_")
		}
	}
}

// early removes a return, so that the code after it runs too. At the end of a function that does not compile.
func (f *finder) early(s *ast.ReturnStmt) {
	if len(s.Results) == 1 {
		if call, ok := s.Results[0].(*ast.CallExpr); ok {
			f.replace(s, "_ = "+f.text(call), f.text(call))
			return
		}
	}
	f.replace(s, f.uses(s.Results))
}

// uses returns a statement that only uses the variables.
func (f *finder) uses(values []ast.Expr) string {
	var used []string
	for _, v := range values {
		if _, literal := v.(*ast.BasicLit); !literal && f.text(v) != "nil" {
			used = append(used, f.text(v))
		}
	}
	if used == nil {
		return ""
	}
	return "_ = []any{" + strings.Join(used, ", ") + "}"
}

func (f *finder) expression(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		f.operator(e.OpPos, e.Op)
	case *ast.BasicLit:
		if n, err := strconv.ParseInt(e.Value, 0, 32); err == nil && e.Kind == token.INT {
			f.replace(e, strconv.FormatInt(n+1, 10))
		}
	case *ast.Ident:
		switch e.Name {
		case "true":
			f.replace(e, "false")
		case "false":
			f.replace(e, "true")
		}
	}
}
