package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// closeUnder closes a file that somebody has open, so that closing it fails.
func closeUnder(path string) error {
	entries, err := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + entry.Name()); target == path {
			fd, numberErr := strconv.Atoi(entry.Name())
			return errors.Join(numberErr, syscall.Close(fd))
		}
	}
	return errors.Join(err, errors.New("it is not open"))
}

// TestFilesOfANodeThatCannotBeClosed: what was written may be lost, so that is an error.
func TestFilesOfANodeThatCannotBeClosed(t *testing.T) {
	m := newMachine(t)
	m.write("proc/meminfo", "MemTotal: 4000000 kB\nMemFree: 3000000 kB\nInactive(file): 0 kB\n")
	m.write("cgroup/cgroup.controllers", "memory\n")
	to, timeline := filepath.Join(m.dir, "record.jsonl"), filepath.Join(m.dir, "timeline.jsonl")
	for _, path := range []string{to, timeline} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			f := flags{until: -1, timeline: timeline, pressure: pressureFlags{live: true, cgroup: filepath.Join(m.dir, "cgroup"), proc: filepath.Join(m.dir, "proc"), to: to, interval: time.Minute}}
			var closeErr error
			go func() {
				time.Sleep(time.Second)
				closeErr = closeUnder(path)
				stop()
			}()
			require.ErrorContains(t, pressure(ctx, f, io.Discard, io.Discard), filepath.Base(path))
			require.NoError(t, closeErr)
		})
	}
}
