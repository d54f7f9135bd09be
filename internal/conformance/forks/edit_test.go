package forks

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// file is a Go file that is edited by the names in it. A name that is not there fails the test.
type file struct {
	t       *testing.T
	name    string
	text    []byte
	set     *token.FileSet
	tree    *ast.File
	cuts    []cut
	imports map[string]string // to add: name by path
}

// cut replaces what is between two offsets.
type cut struct {
	from, to int
	text     string
}

func parse(t *testing.T, name string, text []byte) *file {
	t.Helper()
	f := &file{t: t, name: name, text: text, set: token.NewFileSet(), imports: map[string]string{}}
	var err error
	if f.tree, err = parser.ParseFile(f.set, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		t.Fatal(err)
	}
	return f
}

// fails ends the test: the checkout is not as the swap expects it.
func (f *file) fails(what string) {
	f.t.Helper()
	f.t.Fatalf("%s has no %s: the swap does not know this version", f.name, what)
}

// replace replaces a node of the syntax tree, with the comment group above it if there is one.
func (f *file) replace(node ast.Node, above *ast.CommentGroup, text string) {
	from := node.Pos()
	if above != nil {
		from = above.Pos()
	}
	f.cuts = append(f.cuts, cut{f.set.Position(from).Offset, f.set.Position(node.End()).Offset, text})
}

func (f *file) insert(at token.Pos, text string) {
	offset := f.set.Position(at).Offset
	f.cuts = append(f.cuts, cut{offset, offset, text})
}

// drop removes declarations: functions, methods as Type.Method, types, constants and variables.
func (f *file) drop(names ...string) {
	f.t.Helper()
	left := slices.Clone(names)
	for _, declaration := range f.tree.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if at := slices.Index(left, called(d)); at >= 0 {
				left = slices.Delete(left, at, at+1)
				f.replace(d, d.Doc, "")
			}
		case *ast.GenDecl:
			left = f.dropIn(d, left)
		}
	}
	if len(left) > 0 {
		f.fails(strings.Join(left, " and no "))
	}
}

// dropIn removes names from a declaration, or all of it if nothing else is in it. It returns the names that it did not find.
func (f *file) dropIn(d *ast.GenDecl, names []string) []string {
	gone, from := 0, len(f.cuts)
	for _, spec := range d.Specs {
		for at, name := range names {
			if above, is := documented(spec, name); is {
				names = slices.Delete(names, at, at+1)
				f.replace(spec, above, "")
				gone++
				break
			}
		}
	}
	if gone > 0 && gone == len(d.Specs) {
		f.cuts = f.cuts[:from]
		f.replace(d, d.Doc, "")
	}
	return names
}

// documented reports whether a specification declares the name, and returns its comment.
func documented(spec ast.Spec, name string) (*ast.CommentGroup, bool) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return s.Doc, s.Name.Name == name
	case *ast.ValueSpec:
		return s.Doc, s.Names[0].Name == name
	}
	return nil, false
}

// called returns the name of a function, or Type.Method.
func called(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	of := d.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

func (f *file) function(name string) *ast.FuncDecl {
	f.t.Helper()
	for _, d := range f.tree.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && called(d) == name {
			return d
		}
	}
	f.fails(name)
	return nil
}

// body replaces what a function does.
func (f *file) body(name, text string) {
	f.t.Helper()
	f.replace(f.function(name).Body, nil, "{\n"+text+"\n}")
}

// statement replaces a statement of a function, and comments of its own above it. The path leads to it: the first statement
// that mentions the first name, in its block the first that mentions the second, and so on.
func (f *file) statement(function, text string, path ...string) {
	f.t.Helper()
	block, at := f.find(function, path)
	from := block.Lbrace
	if at > 0 {
		from = block.List[at-1].End()
	}
	f.replace(block.List[at], f.above(block.List[at], from), text)
}

// above returns the comments on lines of their own between a position and a statement.
func (f *file) above(s ast.Stmt, from token.Pos) *ast.CommentGroup {
	for _, group := range f.tree.Comments {
		if group.Pos() > from && group.End() < s.Pos() && f.set.Position(group.Pos()).Line > f.set.Position(from).Line {
			return group
		}
	}
	return nil
}

// after adds text after the first statement of a function that mentions a name.
func (f *file) after(function, mentions, text string) {
	f.t.Helper()
	block, at := f.find(function, []string{mentions})
	f.insert(block.List[at].End(), "\n"+text)
}

// condition replaces the condition of an if statement: the first in a function that mentions a name.
func (f *file) condition(function, mentions, text string) {
	f.t.Helper()
	block, at := f.find(function, []string{mentions})
	if is, ok := block.List[at].(*ast.IfStmt); ok {
		f.replace(is.Cond, nil, text)
	} else {
		f.fails("if with " + mentions + " in " + function)
	}
}

// find returns the statement that a path leads to: its block, and its index there.
func (f *file) find(function string, path []string) (block *ast.BlockStmt, at int) {
	f.t.Helper()
	block = f.function(function).Body
	for i, name := range path {
		if at = slices.IndexFunc(block.List, func(s ast.Stmt) bool { return mentions(s, name) }); at < 0 {
			f.fails(strings.Join(path, ", ") + " in " + function)
		}
		if is, ok := block.List[at].(*ast.IfStmt); ok && i < len(path)-1 {
			block = is.Body
		}
	}
	return block, at
}

func mentions(s ast.Stmt, name string) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// call replaces the first call of a method within a function.
func (f *file) call(function, method, text string) {
	f.t.Helper()
	found := false
	ast.Inspect(f.function(function), func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && !found {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == method {
				f.replace(c, nil, text)
				found = true
			}
		}
		return !found
	})
	if !found {
		f.fails("call of " + method + " in " + function)
	}
}

// key replaces an element of a composite literal within a function by its key. An empty text removes it.
func (f *file) key(function, key, text string) {
	f.t.Helper()
	found := false
	ast.Inspect(f.function(function), func(n ast.Node) bool {
		element, ok := n.(*ast.KeyValueExpr)
		if !ok || found {
			return !found
		}
		if id, ok := element.Key.(*ast.Ident); !ok || id.Name != key {
			return true
		}
		found = true
		end := f.set.Position(element.End()).Offset
		if rest := f.text[end:]; text == "" && bytes.HasPrefix(rest, []byte(",")) {
			end++
		}
		f.cuts = append(f.cuts, cut{f.set.Position(element.Pos()).Offset, end, text})
		return false
	})
	if !found {
		f.fails("element " + key + " in " + function)
	}
}

// selector replaces selections of a name within a function.
func (f *file) selector(function, name, text string) {
	f.t.Helper()
	found := false
	ast.Inspect(f.function(function), func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == name {
			f.replace(s, nil, text)
			found = true
		}
		return true
	})
	if !found {
		f.fails("." + name + " in " + function)
	}
}

// field replaces a field of a struct, with its comment. An empty text removes it.
func (f *file) field(of, name, text string) {
	f.t.Helper()
	found := false
	ast.Inspect(f.tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != of {
			return true
		}
		if is, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range is.Fields.List {
				if len(field.Names) == 1 && field.Names[0].Name == name {
					f.replace(field, field.Doc, text)
					found = true
				}
			}
		}
		return false
	})
	if !found {
		f.fails(of + "." + name)
	}
}

// use adds an import. The name may be empty.
func (f *file) use(name, of string) { f.imports[of] = name }

// rename replaces the path of an import.
func (f *file) rename(old, now string) {
	f.t.Helper()
	for _, spec := range f.tree.Imports {
		if spec.Path.Value == `"`+old+`"` {
			f.replace(spec.Path, nil, `"`+now+`"`)
			return
		}
	}
	f.fails("import of " + old)
}

// done returns the file after all edits, without imports that it no longer uses.
func (f *file) done() []byte {
	f.t.Helper()
	var lines string
	for of, name := range f.imports {
		lines += "\n" + name + ` "` + of + `"`
	}
	if lines != "" {
		last := f.tree.Imports[len(f.tree.Imports)-1]
		f.insert(last.End(), "\n"+lines)
	}
	text := bytes.Clone(f.text)
	slices.SortStableFunc(f.cuts, func(a, b cut) int { return b.from - a.from })
	for _, c := range f.cuts {
		text = slices.Concat(text[:c.from], []byte(c.text), text[c.to:])
	}
	before := used(f.tree)
	now := parse(f.t, f.name, text)
	after := used(now.tree)
	for _, spec := range now.tree.Imports {
		if name := known(spec); before[name] && !after[name] {
			now.replace(spec, spec.Doc, "")
		}
	}
	for _, c := range slices.Backward(now.cuts) {
		text = slices.Concat(text[:c.from], []byte(c.text), text[c.to:])
	}
	// Where a declaration was, two empty lines are left.
	text, err := format.Source(regexp.MustCompile(`\n\n\n+`).ReplaceAll(text, []byte("\n\n")))
	if err != nil {
		f.t.Fatalf("%s after the swap: %v", f.name, err)
	}
	return text
}

// used returns the names before a dot.
func used(tree *ast.File) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

// known returns the name by which a file most likely knows an import.
func known(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	of := strings.Trim(spec.Path.Value, `"`)
	if base := path.Base(of); !regexp.MustCompile(`^v\d+$`).MatchString(base) {
		return base
	}
	return path.Base(path.Dir(of))
}

func TestEdits(t *testing.T) {
	f := parse(t, "some.go", []byte(`package some

import (
	"fmt"
	"sort"
	"strings"
)

// A is a type.
type A[T any] struct {
	keep int
	// gone is a field.
	gone string
}

// F is a function.
func (a *A[T]) F() { sort.Ints(nil) }

const (
	one = 1
	// two is not needed.
	two = 2
)

type (
	this int
	// that goes, too.
	that int
)

func G() any {
	defer fmt.Println()

	a := []A[int]{{keep: 1, gone: "gone"}}

	// This goes, too.
	strings.ToUpper("a")
	if len(a) > 1 {
		println("stays")
		a = nil
	}
	println(strings.Index("a", "b"))
	return a
}

func H() string { return strings.ToLower("H") }
`))
	f.drop("A.F", "two", "that", "this")
	f.field("A", "gone", "")
	f.key("G", "gone", "")
	f.after("G", "Println", "println()")
	f.statement("G", "println(a)", "ToUpper")
	f.statement("G", "", "len", "a")
	f.condition("G", "len", "len(os.Args) > 0")
	f.call("G", "Index", "7")
	f.selector("G", "Println", "fmt.Print")
	f.body("H", `return taints.None`)
	f.use("", "example.org/taints")
	f.rename("fmt", "example.org/fmt")
	want := `package some

import (
	"example.org/fmt"

	"example.org/taints"
)

// A is a type.
type A[T any] struct {
	keep int
}

const (
	one = 1
)

func G() any {
	defer fmt.Print()
	println()

	a := []A[int]{{keep: 1}}

	println(a)
	if len(os.Args) > 0 {
		println("stays")

	}
	println(7)
	return a
}

func H() string {
	return taints.None
}
`
	if got := string(f.done()); got != want {
		t.Error(got)
	}
}
