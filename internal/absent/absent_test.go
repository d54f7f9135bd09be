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

type list []fmt.Stringer

func (list) String() string { return "" }

func TestIn(t *testing.T) {
	var nothing *list
	of := struct {
		Needed, Lacking, Optional, One, Some fmt.Stringer
		Other                                *int
	}{Needed: list{}, One: nothing, Some: list{nil, nothing, list{nothing}}}
	const invalid = ": Invalid value: \"*absent.list(nil)\": must not be nil within an interface; leave it out"
	want := "[of.lacking: Required value: clientgo.Cluster has all clients, of.one" + invalid + ", of.some[1]" + invalid + ", of.some[2][0]" + invalid + "]"
	if got := In("of", of, "needed", "lacking").ToAggregate().Error(); got != want {
		t.Error(got)
	}
	if got := In("of", struct{ Some fmt.Stringer }{list(nil)}); got != nil {
		t.Error(got)
	}
}
