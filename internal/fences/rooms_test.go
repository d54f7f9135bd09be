package fences

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rooms is where the evictor's rooms are. Each room decides something, imports no other room, and gets the time as an
// argument.
const rooms = "evictor/internal"

// doors are rooms with an exception each. inbox and outbox have a lock: one takes in events, the other passes on
// decisions without the evictor's lock. In armed, evictions wait for their time as timed work, which has a context.
var doors = map[string][]string{"inbox": {"sync", "sync/atomic"}, "outbox": {"sync"}, "armed": {"context"}}

// handedOn is what a room takes in its configuration for a pure package below it, and never calls itself.
var handedOn = map[string][]string{"turns": {"k8s.io/utils/clock"}}

// roomsImport is what every room may import: packages that compute, and API objects.
var roomsImport = []string{
	"cmp", "container/list", "errors", "fmt", "maps", "math", "slices", "strconv", "strings", "time",
	"net/http", // only for the names of status codes: see roomFaults
	"k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/api/errors", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/types",
	module + "/internal/earliest", // a type that two rooms share
	module + "/evictor/budget",    // a pure package, though it lies here
}

// Rooms do not import each other, and have no lock, client, context, log or clock.
func TestRoomsHaveNoDoorsBetweenThem(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root, rooms))
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, entry := range entries {
		room := entry.Name()
		seen[room] = true
		for _, file := range sources(t, rooms+"/"+room) {
			require.Empty(t, roomFaults(t, room, file, nil))
		}
	}
	for _, exceptions := range []map[string][]string{doors, handedOn} {
		for room := range exceptions {
			require.True(t, seen[room], "there is no %s", room)
		}
	}
	for _, room := range []string{"node", "outage", "permit", "pods", "turns"} {
		require.True(t, seen[room], "there is no %s", room)
	}
}

// roomFaults returns what a file of a room may not contain. It reads source instead if that is not nil.
func roomFaults(t *testing.T, room, file string, source any) (faults []string) {
	t.Helper()
	faults = append(clockUses(t, file, source), goStatements(t, file, source)...)
	positions, tree := parse(t, file, source)
	fault := func(n ast.Node, what string) {
		faults = append(faults, fmt.Sprintf("%s:%d: %s", file, positions.Position(n.Pos()).Line, what))
	}
	for _, spec := range tree.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		name, ours := strings.CutPrefix(path, module+"/")
		allowed := slices.Contains(roomsImport, path) || ours && slices.Contains(pure, name) ||
			slices.Contains(doors[room], path) || slices.Contains(handedOn[room], path)
		if !allowed || spec.Name != nil && spec.Name.Name == "." {
			fault(spec, "import "+path)
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "http" && !strings.HasPrefix(n.Sel.Name, "Status") {
				fault(n, "http."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Now", "Since", "NewTimer", "NewTicker"}, f.Sel.Name) {
				fault(n, "a call of "+f.Sel.Name)
			}
		}
		return true
	})
	return faults
}

// TestFencesOfRoomsHold shows that the checks find a violation.
func TestFencesOfRoomsHold(t *testing.T) {
	const source = `package node

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/health"
)

type w struct{ Now time.Time }

func f(c clock.PassiveClock) time.Time {
	go http.Get("")
	_ = http.StatusOK
	_ = w{}.Now
	_ = time.Now()
	return c.Now()
}
`
	require.Equal(t, []string{
		"p.go:22: time.Now", "p.go:19: go",
		"p.go:4: import context", "p.go:5: import log/slog", "p.go:7: import sync", "p.go:10: import k8s.io/utils/clock",
		"p.go:12: import github.com/evictkit/evictkit/evictor/internal/pods",
		"p.go:19: http.Get", "p.go:22: a call of Now", "p.go:23: a call of Now",
	}, roomFaults(t, "node", "p.go", source))
	require.NotContains(t, roomFaults(t, "turns", "p.go", source), "p.go:10: import k8s.io/utils/clock")
	require.NotContains(t, roomFaults(t, "inbox", "p.go", source), "p.go:7: import sync")
}
