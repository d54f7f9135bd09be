package scenario

import (
	"cmp"
	"strconv"
	"time"
	"unicode/utf8"
)

// Kind says what a line of a timeline tells.
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
	Pod    string // podNotReady, evict, cancel, schedule; see JoinPodName
	Type   string // condition
	Status string // condition
	Key    string // taint
	Effect string // taint
	Op     string // taint
	Zone   string // zone: region:zone
	State  string // zone, cluster

	Rate            float64 // zone: nodes a second
	Ready, NotReady int     // zone: nodes that count
}

// AppendJSON appends the line as a JSON object without a newline: t and kind, then the fields of its
// kind in the order of the format's table, without spaces. An unknown kind has no fields.
func (l *Line) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"t":`...)
	dst = strconv.AppendFloat(dst, l.T.Seconds(), 'f', 3, 64)
	dst = appendText(dst, "kind", string(l.Kind))
	switch l.Kind {
	case KindCondition:
		dst = appendText(dst, "node", l.Node)
		dst = appendText(dst, "type", l.Type)
		dst = appendText(dst, "status", l.Status)
	case KindTaint:
		dst = appendText(dst, "node", l.Node)
		dst = appendText(dst, "key", l.Key)
		dst = appendText(dst, "effect", l.Effect)
		dst = appendText(dst, "op", l.Op)
	case KindPodNotReady, KindEvict, KindCancel, KindSchedule:
		dst = appendText(dst, "node", l.Node)
		dst = appendText(dst, "pod", l.Pod)
	case KindZone:
		dst = appendText(dst, "zone", l.Zone)
		dst = appendText(dst, "state", l.State)
		dst = append(dst, `,"rate":`...)
		dst = strconv.AppendFloat(dst, l.Rate, 'f', 3, 64)
		dst = append(dst, `,"ready":`...)
		dst = strconv.AppendInt(dst, int64(l.Ready), 10)
		dst = append(dst, `,"notReady":`...)
		dst = strconv.AppendInt(dst, int64(l.NotReady), 10)
	case KindCluster:
		dst = appendText(dst, "state", l.State)
	}
	return append(dst, '}')
}

// Compare orders lines as a timeline does: by t as printed, kind, zone, node, pod, key, type, effect, op,
// status, state; texts bytewise.
func Compare(a, b Line) int {
	return cmp.Or(
		cmp.Compare(millis(a.T), millis(b.T)),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Zone, b.Zone),
		cmp.Compare(a.Node, b.Node),
		cmp.Compare(a.Pod, b.Pod),
		cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Effect, b.Effect),
		cmp.Compare(a.Op, b.Op),
		cmp.Compare(a.Status, b.Status),
		cmp.Compare(a.State, b.State),
	)
}

// millis is the time in milliseconds, rounded as AppendJSON prints it: to the nearest, and a tie the way
// its seconds fall as a float64, which is how other tools print three decimals too.
func millis(t time.Duration) int64 {
	ms, rest := int64(t/time.Millisecond), t%time.Millisecond
	switch {
	case rest < time.Millisecond/2:
		return ms
	case rest > time.Millisecond/2:
		return ms + 1
	}
	printed := strconv.FormatFloat(t.Seconds(), 'f', 3, 64)
	if printed[len(printed)-1] == byte('0'+ms%10) {
		return ms
	}
	return ms + 1
}

func appendText(dst []byte, name, value string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	return appendString(dst, value)
}

// appendString appends a JSON string; it escapes only what JSON asks for, and what is not UTF-8 becomes
// U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r < ' ' || r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
