// Package final marks errors for which a retry is useless. Queue and worker use the same mark, so an error that was
// marked for one may be handed to the other.
package final

import "errors"

type final struct{ err error }

func (f final) Error() string { return f.err.Error() }
func (f final) Unwrap() error { return f.err }

// Mark marks an error. It returns nil for nil.
func Mark(err error) error {
	if err == nil {
		return nil
	}
	return final{err}
}

// Is reports whether the error, or one that it wraps, is marked.
func Is(err error) bool {
	var f final
	return errors.As(err, &f)
}
