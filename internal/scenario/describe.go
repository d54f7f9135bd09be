package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// String describes the event, such as fail 2 nodes of zone a.
func (e *Event) String() string {
	what := strings.Join(e.Actions(), ", ")
	s := e.selector()
	switch {
	case e.Condition != nil:
		return fmt.Sprintf("%s reports %s=%s", s, e.Condition.Type, e.Condition.Status)
	case e.Taint != nil:
		return fmt.Sprintf("taint %s %s:%s", s, e.Taint.Key, e.Taint.Effect)
	case e.Untaint != nil:
		return fmt.Sprintf("untaint %s %s:%s", s, e.Untaint.Key, e.Untaint.Effect)
	case s != nil:
		return what + " " + s.String()
	case e.API != nil:
		return what + " " + e.API.String()
	case e.AddNode != nil:
		return what + " " + e.AddNode.Name
	case e.AddPod != nil:
		return what + " " + e.AddPod.Name + " on " + e.AddPod.Node
	case e.DeletePod != nil:
		return what + " " + e.DeletePod.Name
	case e.ForceDelete != nil:
		return what + " " + e.ForceDelete.Name
	case e.Repeat != nil:
		return fmt.Sprintf("repeat %d events every %v", len(e.Repeat.Events), e.Repeat.Every.Value())
	}
	return what
}

// String describes the state, for which calls, and the latency.
func (a *API) String() string {
	text := a.State
	if a.For != "" {
		text += " for " + a.For
	}
	if a.Latency != nil {
		text += " by " + a.Latency.String()
	}
	return text
}

// String describes the nodes, such as 10 % of zone a.
func (s *Selector) String() string {
	switch {
	case s.Node != "":
		return "node " + s.Node
	case !s.Several():
		return some(len(s.Nodes))
	}
	text := ""
	switch {
	case s.Count != nil:
		text = some(*s.Count) + " of "
	case s.Percent != nil:
		text = strconv.FormatFloat(*s.Percent, 'f', -1, 64) + " % of "
	}
	if s.Zone != nil {
		text += "zone " + *s.Zone
	}
	switch {
	case s.Labels == nil:
	case s.Zone != nil:
		text += " with " + string(*s.Labels)
	case *s.Labels == "":
		text += "all nodes"
	default:
		text += "nodes with " + string(*s.Labels)
	}
	return text
}

func some(nodes int) string {
	if nodes == 1 {
		return "1 node"
	}
	return strconv.Itoa(nodes) + " nodes"
}
