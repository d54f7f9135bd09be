package simulation

import (
	"fmt"
	"strings"
	"time"
)

// String describes the event without its time, such as fail 2 nodes of zone a.
func (e *Event) String() string {
	what := strings.Join(e.Actions(), ", ")
	n := e.nodes()
	switch {
	case e.Condition != nil:
		return fmt.Sprintf("%s reports %s=%s", n, e.Condition.Type, e.Condition.Status)
	case e.Taint != nil:
		return fmt.Sprintf("taint %s %s:%s", n, e.Taint.Key, e.Taint.Effect)
	case e.Untaint != nil:
		return fmt.Sprintf("untaint %s %s:%s", n, e.Untaint.Key, e.Untaint.Effect)
	case e.Drain != nil:
		return what + " " + n.String() + e.Drain.text()
	case e.Roll != nil:
		return what + " " + n.String() + timeoutText(e.Roll.Timeout, e.Roll.Then)
	case n != nil:
		return what + " " + n.String()
	case e.API != nil:
		return what + " " + e.API.String()
	case e.AddNode != nil:
		return what + " " + e.AddNode.fields().Name
	case e.AddPod != nil:
		return what + " " + e.AddPod.Name + " on " + e.AddPod.Node
	case e.DeletePod != nil:
		return what + " " + e.DeletePod.Name
	case e.ForceDelete != nil:
		return what + " " + e.ForceDelete.Name
	case e.Repeat != nil:
		return fmt.Sprintf("repeat %d events every %s", len(e.Repeat.Events), Brief(e.Repeat.Every))
	}
	return what
}

// String describes the state, for which calls, and the latency or the answer.
func (a *API) String() string {
	text := a.State
	if a.For != "" {
		text += " for " + a.For
	}
	if a.Latency != 0 {
		text += " by " + a.Latency.String()
	}
	if a.Answer != "" {
		text += " with " + a.Answer
	}
	return text
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
