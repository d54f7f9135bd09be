package evictor_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// stages are the stages that a node can be in, with what belongs to them. The list may only shrink.
var stages = []string{
	"new", "calm", "failed", "emptying", "served",
	"early after failed", "early after served",
}

// visited are the states in which nodes were found in some lives, after every step, decision and write.
var visited = struct {
	sync.Mutex
	times map[string]int
}{times: map[string]int{}}

// look checks what the evictor remembers about every node. It is called without a lock.
func (l *life) look() {
	l.mu.Lock()
	e := l.e
	l.mu.Unlock()
	if e == nil {
		return
	}
	states, err := e.States()
	if err != nil {
		l.t.Error(err)
	}
	visited.Lock()
	defer visited.Unlock()
	for _, s := range states {
		visited.times[s]++
	}
}

// few requires that the lives since the last call have visited only these stages, and at most this many states; the
// number may only be lowered.
func few(t *testing.T, most int) {
	t.Helper()
	visited.Lock()
	defer visited.Unlock()
	for state := range visited.times {
		stage, _, _ := strings.Cut(strings.NewReplacer(", unwritten", "|", ", heard", "|", ", to mark", "|", ", unseen", "|").Replace(state), "|")
		require.Contains(t, stages, stage)
	}
	t.Log(len(visited.times), "states")
	require.LessOrEqual(t, len(visited.times), most)
	clear(visited.times)
}
