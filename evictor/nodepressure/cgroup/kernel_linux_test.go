package cgroup

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests are about the real kernel: it notifies when tasks really wait.

// TestKernelNotifiesOfMemory: tasks wait for pages that they have just used and that were taken away.
func TestKernelNotifiesOfMemory(t *testing.T) {
	if _, err := os.Stat("/proc/pressure/memory"); err != nil {
		t.Skipf("this kernel has no pressure-stall information: %s", err)
	}
	notifier, err := NewNotifier(Node{Dir: t.TempDir()}, NotifierConfig{Stall: time.Millisecond})
	if err != nil {
		t.Skipf("this kernel sets no triggers for us: %s", err)
	}
	require.Equal(t, "pressure-stall trigger on /proc/pressure/memory: some 1000 2000000", notifier.String())
	quiet(t)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	wakes := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- notifier.Run(ctx, func() {
			select {
			case wakes <- struct{}{}:
			default:
			}
		})
	}()
	thrash(t, wakes)
	end()
	require.ErrorIs(t, <-done, context.Canceled)
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// madvPageout asks the kernel to take pages away; package syscall does not have it.
const madvPageout = 21

// thrash reads a file again and again until done; in between the file is taken from memory.
func thrash(t *testing.T, done <-chan struct{}) {
	t.Helper()
	const size = 64 << 20
	file, err := os.CreateTemp(t.TempDir(), "pages")
	require.NoError(t, err)
	defer file.Close()
	_, err = io.CopyN(file, endless{}, size)
	require.NoError(t, err)
	require.NoError(t, file.Sync()) // without swap only clean pages can be taken away
	pages, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(pages)) }()
	sum := byte(0)
	stalled := func() string {
		text, err := os.ReadFile("/proc/pressure/memory")
		require.NoError(t, err)
		return firstLine(text)
	}
	before := stalled()
	for round := range 500 {
		if round == 50 && stalled() == before {
			break
		}
		for i := 0; i < 3*size; i += os.Getpagesize() {
			sum += pages[i%size]
		}
		if err := syscall.Madvise(pages, madvPageout); err != nil {
			t.Skipf("this kernel takes no pages away: %s", err)
		}
		select {
		case <-done:
			t.Logf("woken after %d rounds (%d): %s, then %s", round, sum, before, stalled())
			return
		default:
		}
	}
	t.Skip("nobody waits for memory here: this kernel does not count the reading of pages that were taken away as a stall")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 1
	}
	return len(p), nil
}

// ownCgroup makes a cgroup v2 for a test.
func ownCgroup(t *testing.T) string {
	t.Helper()
	mounts, err := os.Open("/proc/self/mounts")
	require.NoError(t, err)
	defer mounts.Close()
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 3 || words[2] != "cgroup2" {
			continue
		}
		dir, err := os.MkdirTemp(words[1], "evictkit-test-")
		if err != nil {
			t.Skipf("no cgroup can be made: %s", err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		return dir
	}
	t.Skip("no cgroup of version 2 is mounted")
	return ""
}

// within starts a process in a cgroup that spins or waits, until the test ends or end is called.
func within(t *testing.T, dir, what string) (end func()) {
	t.Helper()
	cgroup, err := os.Open(dir)
	require.NoError(t, err)
	defer cgroup.Close()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "EVICTKIT_TEST_PROCESS="+what)
	command.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(cgroup.Fd()), Pdeathsig: syscall.SIGKILL}
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	if err := command.Start(); err != nil {
		t.Skipf("no process can be started in a cgroup: %s", err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = command.Process.Kill()
			_ = command.Wait()
			_ = stdin.Close()
		}
	}
	t.Cleanup(end)
	return end
}

func TestMain(m *testing.M) {
	switch os.Getenv("EVICTKIT_TEST_PROCESS") {
	case "spins":
		for range 4 {
			go func() {
				for { //nolint:staticcheck // it is to spin
				}
			}()
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "waits":
		_, _ = io.Copy(io.Discard, os.Stdin)
	default:
		os.Exit(m.Run())
	}
}

// TestKernelNotifiesOfACgroup: tasks of a cgroup wait for the processor. In the end the cgroup is removed.
func TestKernelNotifiesOfACgroup(t *testing.T) {
	quiet(t)
	dir := ownCgroup(t)
	notifier, err := NewNotifier(Node{Dir: dir}, NotifierConfig{Resource: "cpu", Stall: time.Millisecond})
	if err != nil {
		t.Skipf("this kernel sets no triggers for cgroups: %s", err)
	}
	require.Equal(t, "pressure-stall trigger on "+filepath.Join(dir, "cpu.pressure")+": some 1000 2000000", notifier.String())
	spinners := []func(){within(t, dir, "spins"), within(t, dir, "spins")}
	woken := false
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // in case the kernel does not notify
	defer cancel()
	err = notifier.Run(ctx, func() {
		if woken {
			return
		}
		woken = true
		for _, end := range spinners {
			end()
		}
		for { // until the kernel has seen them end
			if err := os.Remove(dir); err == nil || !errors.Is(err, syscall.EBUSY) {
				require.NoError(t, err)
				return
			}
		}
	})
	require.True(t, woken)
	require.ErrorIs(t, err, errGone)
}

// TestKernelNotifiesByInotify: inotify works on the files in which a cgroup counts events, although the kernel writes
// them. It uses processes here, because memory.events needs the memory controller.
func TestKernelNotifiesByInotify(t *testing.T) {
	quiet(t)
	dir := ownCgroup(t)
	events := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.events"))
		require.NoError(t, err)
		return string(text)
	}
	within(t, dir, "waits")() // or skips the test here
	for !strings.Contains(events(), "populated 0") {
	}
	notifier := &Notifier{source: source{path: filepath.Join(dir, "cgroup.events")}, window: leastWindow}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	started := make(chan func(), 1)
	go func() {
		defer close(started)
		if untilWatched(ctx, t) {
			started <- within(t, dir, "waits")
		}
	}()
	// The notification may come later than the file changes: the end of the first process may be reported only now.
	require.ErrorIs(t, notifier.Run(ctx, func() {
		if strings.Contains(events(), "populated 1") {
			stop()
		}
	}), context.Canceled)
	end := <-started
	require.Contains(t, events(), "populated 1")
	end()
}
