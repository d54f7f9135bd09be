// Package absent finds interface values that hold only a type, such as a nil pointer. They are not nil, but panic when
// they are used.
package absent

import "reflect"

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
