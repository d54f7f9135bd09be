// Package absent finds interface values that hold only a type, such as a nil pointer. They are not nil, but panic when
// they are used.
package absent

import (
	"fmt"
	"reflect"

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

// Missing returns a fault if a required value is absent, or says itself that it lacks something.
func Missing(path *field.Path, value any) field.ErrorList {
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
