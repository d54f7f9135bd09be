package cgroup

import (
	"context"
	"encoding/binary"
	"errors"
	"syscall"
	"time"
)

// The file systems that a trigger may be written to, by their numbers in statfs.
const (
	cgroup2FileSystem = 0x63677270
	procFileSystem    = 0x9fa0
)

// watch is an open source. A poll of pressure-stall information reports a notification only once, and a nested poll
// would lose it. So one call of epoll waits for everything.
type watch struct {
	file, poll   int    // descriptors
	ended, ender int    // a pipe: writing to ender ends the wait
	event        uint32 // what to wait for
	inotify      bool
}

// try opens and closes the source.
func (s source) try() error {
	w, err := s.open()
	if err != nil {
		return err
	}
	w.close()
	return nil
}

func (s source) open() (*watch, error) {
	w := &watch{file: -1, poll: -1, ended: -1, ender: -1}
	if err := w.open(s); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *watch) open(s source) (err error) {
	if s.trigger == "" {
		err = w.openInotify(s.path)
	} else {
		err = w.openTrigger(s)
	}
	if err != nil {
		return err
	}
	pipe := make([]int, 2)
	if err := syscall.Pipe2(pipe, syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return err
	}
	w.ended, w.ender = pipe[0], pipe[1]
	if w.poll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if err := w.add(w.ended, syscall.EPOLLIN); err != nil {
		return err
	}
	return w.add(w.file, w.event)
}

func (w *watch) add(file int, event uint32) error {
	return syscall.EpollCtl(w.poll, syscall.EPOLL_CTL_ADD, file, &syscall.EpollEvent{Events: event, Fd: int32(file)})
}

func (w *watch) openInotify(path string) (err error) {
	if w.file, err = syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK); err != nil {
		return err
	}
	w.inotify, w.event = true, syscall.EPOLLIN
	_, err = syscall.InotifyAddWatch(w.file, path, syscall.IN_MODIFY|syscall.IN_DELETE_SELF)
	return err
}

func (w *watch) openTrigger(s source) (err error) {
	if w.file, err = syscall.Open(s.path, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0); err != nil {
		return err
	}
	var on syscall.Statfs_t
	if err := syscall.Fstatfs(w.file, &on); err != nil {
		return err
	}
	if on.Type != cgroup2FileSystem && on.Type != procFileSystem {
		return errors.New("is not a kernel file")
	}
	w.event = syscall.EPOLLPRI
	_, err = syscall.Write(w.file, append([]byte(s.trigger), 0))
	return err
}

func (w *watch) close() {
	for _, file := range []int{w.poll, w.file, w.ended, w.ender} {
		if file >= 0 {
			_ = syscall.Close(file)
		}
	}
}

// end ends the wait. It may be called from any goroutine.
func (w *watch) end() { _, _ = syscall.Write(w.ender, []byte{0}) }

// run waits until the context ends or something fails. It blocks its thread.
func (n *Notifier) run(ctx context.Context, wake func()) error {
	w, err := n.source.open()
	if err != nil {
		return err
	}
	defer w.close()
	ending := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ending)
		w.end()
	})
	defer func() {
		if !stop() {
			<-ending
		}
	}()
	for ctx.Err() == nil {
		notified, err := w.wait(-1)
		if err != nil {
			return err
		}
		if !notified {
			continue
		}
		wake()
		if w.inotify {
			if err := w.rest(n.window); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait says whether the kernel notified within that many milliseconds; -1 means no limit.
func (w *watch) wait(milliseconds int) (notified bool, err error) {
	events := make([]syscall.EpollEvent, 2)
	n, err := syscall.EpollWait(w.poll, events, milliseconds)
	if errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, event := range events[:n] {
		if int(event.Fd) != w.file {
			continue
		}
		if event.Events&syscall.EPOLLERR != 0 {
			return false, errGone
		}
		notified = true
		if w.inotify {
			if err := w.drain(); err != nil {
				return false, err
			}
		}
	}
	return notified, nil
}

// drain reads all pending inotify events.
func (w *watch) drain() error {
	buffer := make([]byte, 4096)
	for {
		n, err := syscall.Read(w.file, buffer)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if errors.Is(err, syscall.EAGAIN) {
			return nil
		}
		if err != nil {
			return err
		}
		for rest := buffer[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
			mask, name := binary.NativeEndian.Uint32(rest[4:]), binary.NativeEndian.Uint32(rest[12:])
			if mask&(syscall.IN_DELETE_SELF|syscall.IN_IGNORED|syscall.IN_UNMOUNT) != 0 {
				return errGone
			}
			rest = rest[min(len(rest), syscall.SizeofInotifyEvent+int(name)):]
		}
	}
}

// rest ignores notifications for the rest of a window; what comes meanwhile is reported once, at its end.
// Pressure-stall triggers need no rest, because the kernel limits them.
func (w *watch) rest(window time.Duration) error {
	if err := w.listen(0); err != nil {
		return err
	}
	for end := time.Now().Add(window); ; {
		left := time.Until(end)
		if left <= 0 {
			return w.listen(w.event)
		}
		// Only the end of the context interrupts this.
		events := make([]syscall.EpollEvent, 1)
		n, err := syscall.EpollWait(w.poll, events, int(left/time.Millisecond)+1)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// listen changes which events of the source to wait for.
func (w *watch) listen(event uint32) error {
	return syscall.EpollCtl(w.poll, syscall.EPOLL_CTL_MOD, w.file, &syscall.EpollEvent{Events: event, Fd: int32(w.file)})
}
