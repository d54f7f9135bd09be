// Package absent finds interface values that hold only a type, such as a nil pointer. They are not nil, but panic when
// they are used.
package absent

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Value reports whether the value is nil, or an interface that holds a nil pointer, map, slice, function or channel.
func Value(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}

// Faults returns a fault if an optional value holds only a type. Nil, which stands for the default, is none.
func Faults(path *field.Path, value any) field.ErrorList {
	if value == nil || !Value(value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, fmt.Sprintf("%T(nil)", value), "must not be nil within an interface; leave it out")}
}

// In returns the faults of a struct's exported interface fields, by their names in paths. The required ones must be there, the
// others may be nil. One that holds several of its own kind stands for each of them.
func In(name string, of any, required ...string) (errs field.ErrorList) {
	fields := reflect.ValueOf(of)
	for i := range fields.NumField() {
		is, at := fields.Type().Field(i), fields.Field(i)
		if is.Type.Kind() != reflect.Interface {
			continue
		}
		key := strings.ToLower(is.Name[:1]) + is.Name[1:]
		if path := field.NewPath(name, key); slices.Contains(required, key) {
			errs = append(errs, missing(path, at.Interface())...)
		} else {
			errs = append(errs, several(path, at)...)
		}
	}
	return errs
}

// several is Faults of what an interface holds or, if that is a list of the same interface, of each.
func several(path *field.Path, at reflect.Value) (errs field.ErrorList) {
	list := at.Elem()
	if list.Kind() != reflect.Slice || list.Type().Elem() != at.Type() {
		return Faults(path, at.Interface())
	}
	for i := range list.Len() {
		errs = append(errs, several(path.Index(i), list.Index(i))...)
	}
	return errs
}

// missing returns a fault if a required value is absent, or says itself that it lacks something.
func missing(path *field.Path, value any) field.ErrorList {
	if Value(value) {
		return field.ErrorList{field.Required(path, "clientgo.Cluster has all clients")}
	}
	if it, ok := value.(interface{ Missing() string }); ok {
		if lacks := it.Missing(); lacks != "" {
			return field.ErrorList{field.Required(path, lacks)}
		}
	}
	return nil
}
