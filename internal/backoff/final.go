package backoff

import "errors"

type final struct{ err error }

func (f final) Error() string { return f.err.Error() }
func (f final) Unwrap() error { return f.err }

// Final marks an error after which no further try helps. It returns nil for nil.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return final{err}
}

// IsFinal reports whether the error, or one that it wraps, is marked.
func IsFinal(err error) bool {
	var f final
	return errors.As(err, &f)
}
