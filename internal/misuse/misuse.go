// Package misuse checks what wrong use is answered with. Each package has a table of it in its misuse_test.go: what the
// user did wrong, and what the answer says, which names the field or the call and what to do.
package misuse

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// row is one wrong use.
type row struct {
	Wrong  string       // what the user did
	Use    func() error // does it, and returns the error; it may panic instead
	Answer string       // what the error says, or a part of it; that of a panic begins with "panic: "
}

// Check does what each row says, and compares the answers. No answer is as wrong as another one, and so is an error of the
// runtime's, which names nothing: a nil pointer, an index out of range. The type of the rows is the caller's, so that a
// table needs no names in its rows.
func Check[R ~struct {
	Wrong  string
	Use    func() error
	Answer string
}](t *testing.T, rows []R) {
	t.Helper()
	seen := make(map[string]bool)
	for _, each := range rows {
		row := row(each)
		if seen[row.Wrong] {
			t.Errorf("%s: twice", row.Wrong)
		}
		seen[row.Wrong] = true
		t.Run(row.Wrong, func(t *testing.T) {
			switch is, named := answer(row.Use); {
			case is == "":
				t.Errorf("silence, want %q", row.Answer)
			case !named, !strings.Contains(is, row.Answer):
				t.Errorf("answer %q, want %q", is, row.Answer)
			}
		})
	}
}

// answer returns what the use is answered with, empty for nothing, and whether that is more than an error of the runtime's.
func answer(use func() error) (is string, named bool) {
	defer func() {
		if value := recover(); value != nil {
			is = fmt.Sprintf("panic: %v", value)
			err, _ := value.(error)
			named = !errors.As(err, new(runtime.Error))
		}
	}()
	if err := use(); err != nil {
		return err.Error(), true
	}
	return "", true
}

// Said is the error of a call that also returns something else.
func Said[T any](_ T, err error) error { return err }

// Panic is a use that has no error to return, and must panic.
func Panic(use func()) func() error {
	return func() error {
		use()
		return nil
	}
}
