package simulation

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Faults returns the faults of a scenario that an error of Play or New tells: all that can be told before it is played, or the
// first event that cannot happen at its time. It returns nil for other errors.
func Faults(err error) []*Fault {
	var invalid invalidError
	errors.As(err, &invalid)
	return invalid
}

type invalidError []*Fault // at least one

// Error returns the texts of all faults, each in a line.
func (e invalidError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the faults.
func (e invalidError) Unwrap() []error {
	errs := make([]error, len(e))
	for i, f := range e {
		errs[i] = f
	}
	return errs
}

// Fault is what is wrong with one field of a scenario. Its text names the field and says what is allowed.
type Fault struct {
	// Path leads to the field, from the Scenario on, by names as scenario files write them and by numbers of items, from 1:
	// events, 3, fail, zone. It may end early, at what contains the field. It is nil for faults of objects.
	Path []string
	// Unknown is the name of a node or pod that does not exist, and Known yields those that do, in any order: a program may
	// suggest one. Both are zero for other faults.
	Unknown string
	Known   iter.Seq[string]

	error // what is wrong
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.error }

// invalid returns an error with the faults, nil if there are none.
func (f faults) invalid() error {
	if f.none() {
		return nil
	}
	return invalidError(*f.found)
}

// faults collects faults of a place, which at and in make narrower. Make it with newFaults.
type faults struct {
	found *[]*Fault
	place string // before the texts; may be empty
	path  []string
}

func newFaults() faults { return faults{found: new([]*Fault)} }

func (f faults) none() bool { return len(*f.found) == 0 }

// at returns what collects faults of a place in the place: its name in texts, which may be empty, and its path from there.
func (f faults) at(place string, steps ...string) faults {
	if place != "" {
		f.place += place + ": "
	}
	f.path = append(f.path[:len(f.path):len(f.path)], steps...)
	return f
}

// in returns what collects faults of a field, which texts begin with.
func (f faults) in(field string) faults { return f.at(field, field) }

// add adds a fault of the place.
func (f faults) add(format string, args ...any) {
	*f.found = append(*f.found, &Fault{Path: f.path, error: fmt.Errorf("%s%w", f.place, fmt.Errorf(format, args...))})
}

// unknown adds that a name does not exist.
func (f faults) unknown(kind, name string, known iter.Seq[string]) {
	f.add("%s %s does not exist", kind, name)
	last := (*f.found)[len(*f.found)-1]
	last.Unknown, last.Known = name, known
}

// missing adds that a field is missing.
func (f faults) missing(field string) { f.at("", field).add("%s is missing", field) }

// config adds the faults of the evictor's configuration.
func (f faults) config(err error) {
	var several interface{ Errors() []error }
	if errors.As(err, &several) {
		for _, err := range several.Errors() {
			f.config(err)
		}
		return
	}
	var of *field.Error
	if errors.As(err, &of) {
		f = f.at("", strings.Split(of.Field, ".")...)
	}
	if err != nil {
		f.add("%w", err)
	}
}

// item returns a number of an item as a step of a path. i counts from 0.
func item(i int) string { return strconv.Itoa(i + 1) }

func notNegative[T int | time.Duration](f faults, value T) {
	if value < 0 {
		f.add("%v is negative", value)
	}
}

func bounded(f faults, n, limit int) {
	notNegative(f, n)
	if n > limit {
		f.add("%d is more than %d", n, limit)
	}
}

// checkLabel checks the value of a label; an empty value is valid.
func checkLabel(f faults, value string) {
	if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
		f.add("%q: %s", value, strings.Join(wrong, "; "))
	}
}

// checkObjectName checks the name of a node or pod.
func checkObjectName(f faults, name string) {
	if name == "" {
		f.missing("name")
	} else if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		f.in("name").add("%q: %s", name, strings.Join(wrong, "; "))
	}
}

func validStatus(s v1.ConditionStatus) bool {
	return s == v1.ConditionTrue || s == v1.ConditionFalse || s == v1.ConditionUnknown
}

func validEffect(e v1.TaintEffect) bool {
	return e == v1.TaintEffectNoSchedule || e == v1.TaintEffectPreferNoSchedule || e == v1.TaintEffectNoExecute
}
