package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// under returns a path relative to the user's directory. `go run -C DIR` starts its program in DIR but leaves the
// user's directory in PWD. A built program uses the directory in which it starts, whatever PWD says.
func under(path string) string {
	program, err := os.Executable()
	if err != nil || strings.HasSuffix(program, ".test") {
		return path
	}
	return from(program, path)
}

func from(program, path string) string {
	if path == "" || path == "-" || filepath.IsAbs(path) || !strings.Contains(program, "go-build") {
		return path
	}
	if user := os.Getenv("PWD"); filepath.IsAbs(user) {
		return filepath.Join(user, path)
	}
	return path
}

// whole is a file that exists completely or not at all: a temporary file beside it replaces it in the end.
type whole struct {
	*bufio.Writer
	file   *os.File
	path   string
	direct bool // not a regular file: written in place
}

// create starts a file, or writes to stdout for "-".
func create(what, path string, stdout io.Writer) (*whole, error) {
	if path == "-" {
		return &whole{Writer: bufio.NewWriterSize(stdout, 1<<16), direct: true}, nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s: %s is a directory", what, path)
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return &whole{Writer: bufio.NewWriterSize(file, 1<<16), file: file, direct: true}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("%s: %s cannot be written: %w", what, path, withoutPath(err))
	}
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.names[file.Name()] = true
	return &whole{Writer: bufio.NewWriterSize(file, 1<<16), file: file, path: path}, nil
}

// withoutPath returns the cause of an error about a temporary file, whose name the user does not know.
func withoutPath(err error) error {
	var of *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &of):
		return of.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// unfinished are the names of temporary files. The lock is held to rename or remove one.
var unfinished = struct {
	sync.Mutex
	names map[string]bool
}{names: make(map[string]bool)}

// abandon removes unfinished files and exits.
func abandon() {
	unfinished.Lock() // never unlocked, so that nothing else is finished
	for name := range unfinished.names {
		_ = os.Remove(name) // it exits in any case
	}
	fmt.Fprintln(os.Stderr, "evictsim: interrupted")
	os.Exit(interruptedCode)
}

// keep ends the file: it replaces the old one, unless writing failed.
func (f *whole) keep(failed error) error {
	if f.direct {
		err := f.Flush()
		if f.file != nil {
			err = errors.Join(err, f.file.Close())
		}
		return errors.Join(failed, err)
	}
	if failed == nil {
		failed = errors.Join(f.Flush(), f.file.Chmod(0o644))
	}
	failed = errors.Join(failed, f.file.Close())
	unfinished.Lock()
	defer unfinished.Unlock()
	delete(unfinished.names, f.file.Name())
	if failed == nil {
		failed = os.Rename(f.file.Name(), f.path)
		if failed == nil {
			return nil
		}
		failed = fmt.Errorf("%s cannot be written: %w", f.path, withoutPath(failed))
	}
	return errors.Join(failed, os.Remove(f.file.Name()))
}

// same says whether two paths name the same file, so that writing one would destroy the other.
func same(a, b string) bool {
	if a == "" || b == "" || a == "-" || b == "-" {
		return false
	}
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// readAll reads a stream to its end, or until the context ends; then the pending read is abandoned.
func readAll(ctx context.Context, r io.Reader, most int64) (data []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		data, err = io.ReadAll(io.LimitReader(r, most))
	}()
	select {
	case <-done:
		return data, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// isPage says whether a name may be that of a report; it need not have an ending.
func isPage(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case "", ".html", ".htm":
		return true
	}
	return false
}
