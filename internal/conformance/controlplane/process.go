package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Process is a controller under test.
type Process struct {
	Name string
	log  *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// BuildExample builds one of this repository's example programs into the plane's directory.
func (p *Plane) BuildExample(ctx context.Context, name string) (path string, err error) {
	path = p.path(name)
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("..", "..", "..", "examples"), "-o", path, "./"+name)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// StartProcess starts a program. Its output goes to a file of that name.
func (p *Plane) StartProcess(name, path string, args ...string) (*Process, error) {
	log, err := os.Create(p.path(name + ".log"))
	if err != nil {
		return nil, err
	}
	c := &Process{Name: name, log: log, cmd: exec.Command(path, args...), done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait() // ProcessState has the result
		close(c.done)
	}()
	return c, nil
}

// Kill ends the process as kill -9 does, and returns once it has ended.
func (c *Process) Kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// Terminate asks the process to end, and kills it if it has not ended in time. False means that it had to be killed.
func (c *Process) Terminate(timeout time.Duration) (ended bool) {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		c.Kill()
		return false
	}
}

// Signal sends a signal and does not wait.
func (c *Process) Signal(s syscall.Signal) error { return c.cmd.Process.Signal(s) }

// Ended says whether the process has ended.
func (c *Process) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Log returns the end of what the process has written.
func (c *Process) Log() string {
	const most = 4000
	text, err := os.ReadFile(c.log.Name())
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	return string(text)
}
