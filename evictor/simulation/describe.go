package simulation

import "strings"

// String describes the event without its time, such as fail 2 nodes of zone a.
func (e *Event) String() string {
	a := e.does()
	if a.words != "" {
		return a.words
	}
	text := strings.Join(e.Actions(), ", ")
	if a.nodes != nil {
		text += " " + a.nodes.describe()
	}
	return text + a.more
}
