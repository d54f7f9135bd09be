// Package final marks errors that trying again cannot mend: one mark for the queue and the worker, so that a function
// may hand either what it made for the other.
package final

import "errors"

type final struct{ err error }

func (f final) Error() string { return f.err.Error() }
func (f final) Unwrap() error { return f.err }

// Mark marks an error. Nil stays nil.
func Mark(err error) error {
	if err == nil {
		return nil
	}
	return final{err}
}

// Is says whether the error, or one that it wraps, was marked.
func Is(err error) bool {
	var f final
	return errors.As(err, &f)
}
