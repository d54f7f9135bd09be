package slim

import (
	"encoding/binary"
	"slices"
	"unique"

	v1 "k8s.io/api/core/v1"
)

// maxTolerations bounds what is kept of one pod's tolerations, in encoded bytes. The API server bounds only the whole
// object.
const maxTolerations = 16 << 10

// tolerations is an encoded list of tolerations. Equal lists are kept once, because a cluster's pods have few different
// ones, and only as long as a pod has them.
type tolerations struct{ text unique.Handle[string] }

// toleratesAll replaces a list of more than maxTolerations: its author could have written this instead, and only a part
// of the list might get the pod evicted early.
var toleratesAll = []v1.Toleration{{Operator: v1.TolerationOpExists}}

func tolerationsOf(list []v1.Toleration) tolerations {
	text := encodeTolerations(list)
	if len(text) > maxTolerations { // keep only those that can match a NoExecute taint
		text = encodeTolerations(slices.DeleteFunc(slices.Clone(list), func(t v1.Toleration) bool { return t.Effect != "" && t.Effect != v1.TaintEffectNoExecute }))
	}
	if len(text) > maxTolerations {
		text = encodeTolerations(toleratesAll)
	}
	return tolerations{unique.Make(string(text))}
}

// encodeTolerations encodes each toleration as its four strings, each after its length, then 0, or 1 and the seconds.
func encodeTolerations(list []v1.Toleration) []byte {
	text := make([]byte, 0, 80*len(list))
	for i := range list {
		t := &list[i]
		for _, part := range [...]string{t.Key, string(t.Operator), t.Value, string(t.Effect)} {
			text = binary.AppendUvarint(text, uint64(len(part)))
			text = append(text, part...)
		}
		if t.TolerationSeconds == nil {
			text = append(text, 0)
		} else {
			text = binary.AppendVarint(append(text, 1), *t.TolerationSeconds)
		}
	}
	return text
}

// appendTo appends the decoded list, which is read-only.
func (t tolerations) appendTo(list []v1.Toleration) []v1.Toleration {
	for text := t.text.Value(); text != ""; {
		var parts [4]string
		for i := range parts {
			length, used := uvarint(text)
			parts[i], text = text[used:used+int(length)], text[used+int(length):]
		}
		next := v1.Toleration{Key: parts[0], Operator: v1.TolerationOperator(parts[1]), Value: parts[2], Effect: v1.TaintEffect(parts[3])}
		timed := text[0] == 1
		text = text[1:]
		if timed {
			zigzag, used := uvarint(text)
			text = text[used:]
			next.TolerationSeconds = secondsPointer(int64(zigzag>>1) ^ -int64(zigzag&1))
		}
		list = append(list, next)
	}
	return list
}

// uvarint is binary.Uvarint of a string.
func uvarint(text string) (value uint64, used int) {
	for shift := 0; ; shift += 7 {
		b := text[used]
		used++
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value, used
		}
	}
}

// usualSeconds are the tolerationSeconds that the API server's admission adds; shared to save memory.
var usualSeconds int64 = 300

func secondsPointer(seconds int64) *int64 {
	if seconds == usualSeconds {
		return &usualSeconds
	}
	return &seconds
}
