//go:build !thin

package evictor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/evictkit/evictkit/evictor/internal/outage"
)

// panicked logs a panic of the user's code.
func (o *Options) panicked(key, value any, stack []byte) {
	if o.Logger != nil {
		o.Logger.LogAttrs(context.Background(), slog.LevelError, "evictor: a client panicked",
			slog.Any("key", key), slog.Any("panic", value), slog.String("stack", string(stack)))
	}
}

// guarded runs write and turns a panic of a client into an error. write must not leave e.mu locked.
func (o *Options) guarded(key any, write func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			o.panicked(key, value, debug.Stack())
			err = fmt.Errorf("%w: %v", outage.ErrPanic, value)
		}
	}()
	return write()
}
