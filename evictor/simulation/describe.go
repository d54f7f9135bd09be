package simulation

import (
	"fmt"
	"strings"
	"time"
)

// String describes the event without its time, such as fail 2 nodes of zone a.
func (e *Event) String() string {
	a := e.does()
	if a.words != "" {
		return a.words
	}
	text := strings.Join(e.Actions(), ", ")
	if a.nodes != nil {
		text += " " + a.nodes.String()
	}
	return text + a.more
}

// Brief formats a duration as texts of this package do: 1m30s, 2h, 3.5 days.
func Brief(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
