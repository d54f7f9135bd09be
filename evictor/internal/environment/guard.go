package environment

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

var errCalled = errors.New("evictor: a function of Options called the evictor, which holds a lock while it waits for that function")

// Ask calls a function of the user's Options, which it names, with a Lock held. It returns false if that panicked, of which
// the program is told once nothing is locked.
func (e *Environment) Ask(function string, call func()) (answered bool) {
	e.asking.Add(1)
	defer func() {
		e.asking.Add(-1)
		if value := recover(); value != nil {
			answered = false
			stack := debug.Stack()
			e.Out.Add(func() { e.tell(function, value, stack) })
			e.Fails(function, panicked(value))
		}
	}()
	call()
	return true
}

// Fails has it reported, once nothing is locked, that a function of the user's Options has failed, at most once a minute.
func (e *Environment) Fails(function string, why error) {
	e.Out.Add(func() {
		now := e.Now()
		if last, was := e.failed[function]; len(e.Parts) > 0 && !(was && now.Sub(last) < time.Minute) {
			e.failed[function] = now
			e.Parts[0].Report(function, why)
		}
	})
}

// mayWait panics where waiting for a Lock would never end.
func (e *Environment) mayWait() {
	if e.asking.Load() > 0 && asks() {
		panic(errCalled) //nolint:forbidigo // Ask recovers it: the function that called has failed
	}
}

// asks says whether this goroutine is within Ask.
func asks() bool {
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "(*Environment).Ask") {
			return true
		}
		if !more {
			return false
		}
	}
}

// ErrEnded is the result of a client that ended its goroutine.
var ErrEnded = errors.New("panic: the client ended its goroutine")

var errPanic = errors.New("panic")

// Panicked is told of a panic of the user's code; it may be nil.
type Panicked func(key, value any, stack []byte)

func (p Panicked) tell(key, value any, stack []byte) {
	defer func() { _ = recover() }() // it has nobody left to tell
	if p != nil {
		p(key, value, stack)
	}
}

func panicked(value any) error { return fmt.Errorf("%w: %v", errPanic, value) }

// Guard turns a panic of the user's code into an error. It is called with nothing locked.
func (p Panicked) Guard(key any, call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			p.tell(key, value, debug.Stack())
			err = panicked(value)
		}
	}()
	return call()
}
