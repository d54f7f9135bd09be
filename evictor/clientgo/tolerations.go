package clientgo

import (
	"encoding/binary"
	"slices"
	"unique"

	v1 "k8s.io/api/core/v1"
)

// maxTolerations bounds what is kept of one pod's tolerations, in bytes as they are kept. An API server bounds only the object.
const maxTolerations = 16 << 10

// tolerations is a list of them in a form of which equal ones are one, for a cluster's pods have few different ones, and which lasts
// as long as a pod that has it.
type tolerations struct{ text unique.Handle[string] }

// toleratesAll is what is kept of a pod with more than maxTolerations: whoever writes them could have written this, and a part of
// them would let it be evicted early.
var toleratesAll = []v1.Toleration{{Operator: v1.TolerationOpExists}}

func tolerationsOf(list []v1.Toleration) tolerations {
	text := encodeTolerations(list)
	if len(text) > maxTolerations { // only those that a NoExecute taint can meet are read
		text = encodeTolerations(slices.DeleteFunc(slices.Clone(list), func(t v1.Toleration) bool { return t.Effect != "" && t.Effect != v1.TaintEffectNoExecute }))
	}
	if len(text) > maxTolerations {
		text = encodeTolerations(toleratesAll)
	}
	return tolerations{unique.Make(string(text))}
}

// encodeTolerations writes each as its four strings, with their lengths, and its seconds, if any, after their number.
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

// appendTo appends the list, to be read only.
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

// usualSeconds are those that an API server's admission adds.
var usualSeconds int64 = 300

func secondsPointer(seconds int64) *int64 {
	if seconds == usualSeconds {
		return &usualSeconds
	}
	return &seconds
}
