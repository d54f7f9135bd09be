package environment

import (
	"errors"
	"fmt"
	"runtime/debug"
)

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
