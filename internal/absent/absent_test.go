package absent

import (
	"errors"
	"fmt"
	"testing"
)

func TestValue(t *testing.T) {
	var pointer *int
	var list []int
	var table map[string]int
	var call func()
	var wire chan int
	for _, value := range []any{nil, error(nil), pointer, list, table, call, wire} {
		if !Value(value) {
			t.Error(fmt.Sprintf("%T", value), "is absent")
		}
	}
	for _, value := range []any{0, "", struct{}{}, new(int), []int{}, map[string]int{}, func() {}, make(chan int), errors.New("")} {
		if Value(value) {
			t.Error(fmt.Sprintf("%T", value), "is there")
		}
	}
}
