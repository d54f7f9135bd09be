package cgroup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// quiet checks, at the end of a test, that no goroutine and no descriptor of a notifier is left.
func quiet(t *testing.T) {
	t.Helper()
	before := descriptors(t)
	t.Cleanup(func() {
		var stacks bytes.Buffer
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
		require.NotContains(t, stacks.String(), "cgroup.(*Notifier)")
		require.NotContains(t, stacks.String(), "cgroup.(*watch)")
		require.Equal(t, before, descriptors(t))
	})
}

// descriptors returns the open ones that may be a notifier's.
func descriptors(t *testing.T) (open []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, entry := range entries {
		to, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name()))
		if err == nil && (strings.Contains(to, "inotify") || strings.Contains(to, "pressure") || strings.HasPrefix(to, "pipe:") || strings.Contains(to, "eventpoll")) {
			open = append(open, to)
		}
	}
	return open
}

// counting returns a node whose memory.events, a regular file, inotify watches.
func counting(t *testing.T) (n Node, events string) {
	t.Helper()
	n = node(t, files{"cgroup/memory.events": "high 0\n", "cgroup/memory.max": "4096000\n"}.uses(".", 1000, 0))
	return n, filepath.Join(n.Dir, "memory.events")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestEventsWake: each change of memory.events wakes, several within a window once. Removing the file is an error.
func TestEventsWake(t *testing.T) {
	quiet(t)
	n, events := counting(t)
	notifier, err := NewNotifier(n, NotifierConfig{Stall: time.Millisecond, Window: leastWindow})
	require.NoError(t, err)
	require.Equal(t, "inotify on "+events, notifier.String())
	wakes := 0
	opened := watching(t, events, "high 1\n")
	err = notifier.Run(context.Background(), func() {
		switch wakes++; wakes {
		case 1:
			<-opened
			for range 10 {
				write(t, events, "high 2\n")
			}
		case 2:
			require.NoError(t, os.Remove(events))
		}
	})
	require.ErrorIs(t, err, errGone)
	require.EqualError(t, err, "cgroup: "+events+": is gone")
	require.Equal(t, 2, wakes)
}

// watching writes to a file as soon as inotify watches anything here, and signals when it has.
func watching(t *testing.T, path, text string) <-chan struct{} {
	t.Helper()
	done := make(chan struct{})
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(func() {
		stop()
		<-done
	})
	go func() {
		defer close(done)
		if untilWatched(ctx, t) {
			write(t, path, text)
		}
	}()
	return done
}

// untilWatched waits until inotify watches something here, and says whether it did before the context ended.
func untilWatched(ctx context.Context, t *testing.T) bool {
	for !strings.Contains(strings.Join(watches(t), "\n"), "inotify wd:") {
		if ctx.Err() != nil {
			return false
		}
	}
	return true
}

// watches returns what the kernel reports about our inotify descriptors.
func watches(t *testing.T) (lines []string) {
	paths, err := filepath.Glob("/proc/self/fdinfo/*")
	require.NoError(t, err)
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil {
			lines = append(lines, string(text))
		}
	}
	return lines
}

// TestNotifierWakesAManager at once, however long its MonitoringPeriod is.
func TestNotifierWakesAManager(t *testing.T) {
	quiet(t)
	n, events := counting(t)
	machine, err := nodepressure.New(nodepressure.DefaultConfig())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	config := nodepressure.DefaultManagerConfig()
	config.MonitoringPeriod = 24 * time.Hour
	passes := 0
	config.OnDecision = func(nodepressure.Decision) {
		if passes++; passes == 2 {
			stop()
		}
	}
	manager, err := nodepressure.NewManager(machine, nodepressure.Clients{StatsProvider: n, Killer: nobody{}}, config)
	require.NoError(t, err)
	notifier, err := NewNotifier(n, NotifierConfig{})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- notifier.Run(ctx, manager.Notify) }()
	opened := watching(t, events, "high 1\n")
	require.ErrorIs(t, manager.Run(ctx), context.Canceled)
	require.ErrorIs(t, <-done, context.Canceled)
	<-opened
	require.Equal(t, 2, passes)
}

type nobody struct{ nodepressure.Killer }

// TestNotifierEndsWithItsContext, whether that ends before Run, during a wait or during a window's rest.
func TestNotifierEndsWithItsContext(t *testing.T) {
	quiet(t)
	n, events := counting(t)
	notifier, err := NewNotifier(n, NotifierConfig{Stall: time.Second, Window: mostWindow})
	require.NoError(t, err)
	over := errors.New("over")
	ctx, end := context.WithCancelCause(context.Background())
	end(over)
	require.ErrorIs(t, notifier.Run(ctx, func() {}), over)

	for range 20 {
		ctx, end := context.WithCancelCause(context.Background())
		go end(over)
		require.ErrorIs(t, notifier.Run(ctx, func() {}), over)
	}

	ctx, end = context.WithCancelCause(context.Background())
	opened := watching(t, events, "high 1\n")
	require.ErrorIs(t, notifier.Run(ctx, func() { go end(over) }), over)
	<-opened
}

// TestNotifierSurvivesWhoeverItWakes: a panic of wake reaches Run's caller, and nothing is left behind.
func TestNotifierSurvivesWhoeverItWakes(t *testing.T) {
	quiet(t)
	n, events := counting(t)
	notifier, err := NewNotifier(n, NotifierConfig{})
	require.NoError(t, err)
	opened := watching(t, events, "high 1\n")
	ctx, end := context.WithCancel(context.Background())
	require.PanicsWithValue(t, "broken", func() { _ = notifier.Run(ctx, func() { panic("broken") }) })
	<-opened
	end()
}

// TestNothingIsOffered: the error lists what was looked for, and why what exists cannot be used.
func TestNothingIsOffered(t *testing.T) {
	quiet(t)
	n := node(t, files{})
	_, err := NewNotifier(n, NotifierConfig{})
	for _, want := range []string{"cgroup: the kernel cannot notify of memory: ", "cgroup/memory.pressure: no such file", "proc/pressure/memory: no such file", "cgroup/memory.events: no such file"} {
		require.ErrorContains(t, err, want)
	}
	_, err = NewNotifier(n, NotifierConfig{Resource: "io"})
	require.ErrorContains(t, err, "cgroup/io.pressure: no such file")
	require.NotContains(t, err.Error(), "memory.events")
	_, err = NewNotifier(Node{Dir: "/nowhere"}, NotifierConfig{})
	require.NotContains(t, err.Error(), "/proc/pressure", "that is of the machine, which the node is not")
}

// TestNothingIsWrittenIntoOthersFiles: a file with that name need not be the kernel's.
func TestNothingIsWrittenIntoOthersFiles(t *testing.T) {
	quiet(t)
	n := node(t, files{"cgroup/memory.pressure": "mine\n"})
	_, err := NewNotifier(n, NotifierConfig{})
	require.ErrorContains(t, err, "memory.pressure: is not a kernel file")
	text, err := os.ReadFile(filepath.Join(n.Dir, "memory.pressure"))
	require.NoError(t, err)
	require.Equal(t, "mine\n", string(text))
}

// A source that is gone before Run is an error of Run.
func TestSourceThatIsGoneBeforeRun(t *testing.T) {
	quiet(t)
	n, events := counting(t)
	notifier, err := NewNotifier(n, NotifierConfig{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(events))
	require.ErrorContains(t, notifier.Run(context.Background(), func() {}), "memory.events: no such file")
}
