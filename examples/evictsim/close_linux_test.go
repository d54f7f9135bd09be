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
	k := newKubelet(t)
	f := k.flags()
	f.until, f.timeline, f.pressure.to = -1, k.at("timeline.jsonl"), k.at("record.jsonl")
	for _, path := range []string{f.pressure.to, f.timeline} {
		synctest.Test(t, func(t *testing.T) {
			k.uses(100)
			ctx, stop := context.WithCancel(context.Background())
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
