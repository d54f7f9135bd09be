package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChanges has one example of each kind, and shows all its changes.
func TestChanges(t *testing.T) {
	const source = `package p

import "fmt"

const first, second = iota, 7

var room [3]int

func f(s *struct{ n int }, on bool, m map[int]int) int {
	if s.n < 1 && !on {
		fmt.Println(s.n)
		return second
	}
	switch {
	case on, s.n == second:
		s.n = len(m)
	}
	switch s.n {
	case 5:
		s.n++
	}
	for i := range m {
		if i != s.n {
			continue
		}
		m[i] += i
		on = true
	}
	return f(s, on, nil) + 1
}
`
	changes, err := changesOf("/x/p.go", []byte(source))
	require.NoError(t, err)
	var texts []string
	for _, c := range changes {
		_, text, _ := strings.Cut(c.String(), "p.go:")
		texts = append(texts, strings.TrimSpace(text))
	}
	require.Equal(t, []string{
		`10:5: s.n < 1 && !on  =>  !(s.n < 1 && !on)`,
		`10:13: &&  =>  ||`,
		`10:9: <  =>  <=`,
		`10:11: 1  =>  2`,
		`11:3: fmt.Println(s.n)  =>`,
		`12:3: return second  =>  _ = []any{second}`,
		`15:7: on  =>  !(on)`,
		`15:15: ==  =>  !=`,
		`16:3: s.n = len(m)  =>  _ = len(m)`,
		`19:2: case 5: s.n++  =>`,
		`19:7: 5  =>  6`,
		`20:6: ++  =>  --`,
		`20:3: s.n++  =>`,
		`23:8: !=  =>  ==`,
		`24:4: continue  =>`,
		`26:8: +=  =>  -=`,
		`26:3: m[i] += i  =>`,
		`27:8: true  =>  false`,
		`29:2: return f(s, on, nil) + 1  =>  _ = []any{f(s, on, nil) + 1}`,
		`29:23: +  =>  -`,
		`29:25: 1  =>  2`,
	}, texts)
	for _, c := range changes {
		if strings.Contains(c.String(), "fmt.Println") {
			require.Equal(t, []string{"", "_ = []any{s.n}"}, c.forms, "s would not be used")
		}
	}
}
