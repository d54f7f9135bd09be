package environment

import (
	"runtime/debug"
	"time"
)

// Ask calls a function of the user's Options, which it names, with a Lock held. It returns false if that panicked, of which
// the program is told once nothing is locked.
func (e *Environment) Ask(function string, call func()) (answered bool) {
	e.asking.Add(1)
	defer func() {
		e.asking.Add(-1)
		if value := recover(); value != nil {
			answered = false
			stack := debug.Stack()
			e.Out.Add(func() { e.tell(function, value, stack) })
			e.Fails(function, panicked(value))
		}
	}()
	call()
	return true
}

// Fails has it reported, once nothing is locked, that a function of the user's Options has failed, at most once a minute.
func (e *Environment) Fails(function string, why error) {
	e.Out.Add(func() {
		now := e.Now()
		if last, was := e.reported[function]; len(e.Parts) > 0 && !(was && now.Sub(last) < time.Minute) {
			e.reported[function] = now
			e.Parts[0].Report(function, why)
		}
	})
}
