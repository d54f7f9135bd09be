package timeline

import (
	"cmp"
	"io"
	"strconv"
	"time"
	"unicode/utf8"
)

// Kind says what a line of a timeline reports. Writes of controllers are [KindCondition], [KindTaint], [KindPodNotReady] and
// [KindEvict]; [KindCancel], [KindZone] and [KindCluster] are decisions of theirs. [KindSchedule], [KindPending], [KindHeld],
// [KindDrain] and [KindRemove] are about pods that others move; [KindDrainEnd] and [KindRollEnd] are about drains that get stuck.
// [KindSettings] comes first, and [KindEvent] is for each event.
type Kind string

// Kinds of lines, and when they are written.
const (
	KindCondition   Kind = "condition"   // the evictor wrote a node condition
	KindTaint       Kind = "taint"       // it changed a taint; a swap is two lines
	KindPodNotReady Kind = "podNotReady" // it set a pod's Ready condition to False
	KindEvict       Kind = "evict"       // it deleted (or evicted) a pod
	KindCancel      Kind = "cancel"      // it dropped an eviction it had scheduled
	KindSchedule    Kind = "schedule"    // an evicted pod came back
	KindZone        Kind = "zone"        // a zone changed state or rate
	KindCluster     Kind = "cluster"     // every zone is now fully disrupted, or no longer
	KindSettings    Kind = "settings"    // the settings in effect; the first line
	KindEvent       Kind = "event"       // an event of the scenario, or a trace, did something
	KindPending     Kind = "pending"     // a pod that should come back found no node
	KindHeld        Kind = "held"        // a pod of a StatefulSet is not created before another is Ready
	KindDrain       Kind = "drain"       // a drain evicted a pod
	KindRemove      Kind = "remove"      // the garbage collector removed a pod: its node is out of service, or gone
	KindDrainEnd    Kind = "drainEnd"    // a drain was forced or given up, or had not ended when the simulation did
	KindRollEnd     Kind = "rollEnd"     // a roll stopped, or had not ended when the simulation did
)

// Values of Line.Op, and of Line.State in lines of kind cluster.
const (
	OpAdd    = "add"
	OpRemove = "remove"

	AllZonesDisrupted = "AllZonesDisrupted"
	ClusterNormal     = "Normal"
)

// Line is one line of a timeline. Which fields it has depends on its Kind; the others stay zero.
type Line struct {
	T    time.Duration // virtual time since the start; printed in seconds with three decimals
	Kind Kind

	Node   string // all but zone and cluster
	Pod    string // podNotReady, evict, cancel, schedule; name, or namespace/name if the namespace is not default
	Type   string // condition
	Status string // condition
	Key    string // taint
	Effect string // taint
	Op     string // taint
	Zone   string // zone: region:zone
	State  string // zone, cluster

	Rate            float64 // zone: nodes a second
	Ready, NotReady int     // zone: nodes that count

	// More is the line's other fields, as JSON written by Fields. It has the reasons, and all fields of settings and
	// event lines.
	More string
}

// fieldsOf has the fields of each kind after t and kind, in the order in which they are printed.
var fieldsOf = map[Kind][]string{
	KindCondition: {"node", "type", "status"}, KindTaint: {"node", "key", "effect", "op"},
	KindPending: {"pod"}, KindHeld: {"pod"}, KindDrainEnd: {"node"}, KindRollEnd: {"node"},
	KindPodNotReady: {"node", "pod"}, KindEvict: {"node", "pod"}, KindCancel: {"node", "pod"},
	KindSchedule: {"node", "pod"}, KindDrain: {"node", "pod"}, KindRemove: {"node", "pod"},
	KindZone: {"zone", "state", "rate", "ready", "notReady"}, KindCluster: {"state"},
}

// fieldOf returns a pointer to a field of a line by its name: a *string, *float64 or *int.
var fieldOf = map[string]func(l *Line) any{
	"node": func(l *Line) any { return &l.Node }, "pod": func(l *Line) any { return &l.Pod },
	"type": func(l *Line) any { return &l.Type }, "status": func(l *Line) any { return &l.Status },
	"key": func(l *Line) any { return &l.Key }, "effect": func(l *Line) any { return &l.Effect },
	"op": func(l *Line) any { return &l.Op }, "zone": func(l *Line) any { return &l.Zone },
	"state": func(l *Line) any { return &l.State }, "rate": func(l *Line) any { return &l.Rate },
	"ready": func(l *Line) any { return &l.Ready }, "notReady": func(l *Line) any { return &l.NotReady },
}

// AppendJSON appends the line as a JSON object without a newline: t and kind, then the kind's fields in the order of
// the format's table, then More, without spaces. A line of an unknown kind has only t, kind and More.
func (l *Line) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"t":`...)
	dst = appendDecimal(dst, l.T.Seconds())
	dst = append(dst, `,"kind":`...)
	dst = appendString(dst, string(l.Kind))
	for _, name := range fieldsOf[l.Kind] {
		dst = append(dst, ',', '"')
		dst = append(dst, name...)
		dst = append(dst, '"', ':')
		switch value := fieldOf[name](l).(type) {
		case *string:
			dst = appendString(dst, *value)
		case *float64:
			dst = appendDecimal(dst, *value)
		case *int:
			dst = strconv.AppendInt(dst, int64(*value), 10)
		}
	}
	return append(append(dst, l.More...), '}')
}

// Compare orders lines as in a timeline: by t as printed, kind, zone, node, pod, key, type, effect, op, status, state,
// and the rest; texts bytewise. Settings come first.
func Compare(a, b Line) int {
	if c := cmp.Compare(millis(a.T), millis(b.T)); c != 0 {
		return c
	}
	if a.Kind != b.Kind {
		switch KindSettings {
		case a.Kind:
			return -1
		case b.Kind:
			return 1
		}
		return cmp.Compare(a.Kind, b.Kind)
	}
	return cmp.Or(
		cmp.Compare(a.Zone, b.Zone),
		cmp.Compare(a.Node, b.Node),
		cmp.Compare(a.Pod, b.Pod),
		cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Effect, b.Effect),
		cmp.Compare(a.Op, b.Op),
		cmp.Compare(a.Status, b.Status),
		cmp.Compare(a.State, b.State),
		cmp.Compare(a.More, b.More),
	)
}

func appendDecimal(dst []byte, value float64) []byte {
	return strconv.AppendFloat(dst, value, 'f', 3, 64)
}

// millis returns the time in milliseconds, rounded as it is printed: to the nearest. A tie goes the way that its
// seconds as a float64 go, which is how other tools print three decimals.
func millis(t time.Duration) int64 {
	ms, rest := int64(t/time.Millisecond), t%time.Millisecond
	switch {
	case rest < time.Millisecond/2:
		return ms
	case rest > time.Millisecond/2:
		return ms + 1
	}
	printed := appendDecimal(nil, t.Seconds())
	if printed[len(printed)-1] == '0'+byte(ms%10) {
		return ms
	}
	return ms + 1
}

// appendString appends a JSON string. It escapes only what JSON requires; what is not UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= ' ':
			dst = utf8.AppendRune(dst, r)
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		}
	}
	return append(dst, '"')
}

// To returns a function that writes each line to w, as JSON and a newline.
func To(w io.Writer) func(Line) error {
	var text []byte
	return func(l Line) error {
		text = append(l.AppendJSON(text[:0]), '\n')
		_, err := w.Write(text)
		return err
	}
}
