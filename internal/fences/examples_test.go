package fences

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// small are the examples that are short enough to read in one go. Each says first which question it answers, has at
// most 120 lines, and has a test.
var small = []string{
	"beside/controller.go", "capacity/check.go", "drain/main.go", "heartbeats/main.go", "manager/main.go", "nodeagent/main.go", "policy/main.go",
	"schedulerplugin/plugin.go", "why/main.go",
}

func TestExamplesAreSmall(t *testing.T) {
	for _, name := range small {
		file := filepath.Join(root, "examples", name)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.LessOrEqual(t, bytes.Count(text, []byte("\n")), 120, name)
		tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
		require.NoError(t, err)
		require.NotNil(t, tree.Doc, name)
		require.Regexp(t, `^\w+ \w+ answers: [^?]+\?`, paragraph(tree.Doc), name)
		tests, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, tests, name)
	}
}

func paragraph(comment *ast.CommentGroup) string {
	text, _, _ := bytes.Cut([]byte(comment.Text()), []byte("\n\n"))
	return string(bytes.ReplaceAll(text, []byte("\n"), []byte(" ")))
}
