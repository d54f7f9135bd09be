package slim

import (
	"encoding/binary"
	"slices"
	"strings"
	"unique"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// attributes are what is kept of a pod's labels, annotations and owners, encoded. Equal ones are kept once, because the pods
// of a workload have the same, and only as long as a pod has them.
type attributes struct{ text unique.Handle[string] }

// attributes returns what is kept, and whether some of the labels are left away.
func (k Keep) attributes(whole *metav1.ObjectMeta) (kept attributes, cut bool) {
	labels := fitting(whole.Labels, maxLabels)
	text := attributesText{name: whole.Name, bytes: make([]byte, 0, 256)}
	text.pairs(labels)
	text.pairs(fitting(named(whole.Annotations, k.PodAnnotations), maxAnnotations))
	text.owners(k.owners(whole))
	return attributes{unique.Make(string(text.bytes))}, len(labels) < len(whole.Labels)
}

// owners returns the owners that are kept, those that fit.
func (k Keep) owners(whole *metav1.ObjectMeta) (kept []metav1.OwnerReference) {
	if !k.Owners && !k.Controllers {
		return nil
	}
	room := maxOwners
	for i := range whole.OwnerReferences {
		o := &whole.OwnerReferences[i]
		const itself = 40
		size := itself + len(o.APIVersion) + len(o.Kind) + len(o.Name) + len(o.UID)
		if size <= room && (k.Owners || o.Controller != nil && *o.Controller) {
			kept, room = append(kept, *o), room-size
		}
	}
	return kept
}

// attributesText encodes labels and annotations as their number, then each key and value, in the order of keys; owners as
// their number, then each with its four texts and its two flags. A text is its length and its bytes. A value may also be one
// of the marks below: they make the attributes of a StatefulSet's pods equal.
type attributesText struct {
	name  string // of the pod
	bytes []byte
}

// Marks in place of a value's length. Others are the length and valueMarks.
const (
	valueIsName    = iota // as that of statefulset.kubernetes.io/pod-name
	valueIsOrdinal        // what follows the last hyphen of the name, as that of apps.kubernetes.io/pod-index
	valueMarks
)

func ordinalOf(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

func (t *attributesText) number(n int) { t.bytes = binary.AppendUvarint(t.bytes, uint64(n)) } //nolint:gosec // never negative

func (t *attributesText) text(text string) {
	t.number(len(text))
	t.bytes = append(t.bytes, text...)
}

func (t *attributesText) pairs(set map[string]string) {
	t.number(len(set))
	var room [16]string
	keys := room[:0]
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		t.text(key)
		switch value := set[key]; value {
		case t.name:
			t.number(valueIsName)
		case ordinalOf(t.name):
			t.number(valueIsOrdinal)
		default:
			t.number(len(value) + valueMarks)
			t.bytes = append(t.bytes, value...)
		}
	}
}

func (t *attributesText) owners(list []metav1.OwnerReference) {
	t.number(len(list))
	for i := range list {
		o := &list[i]
		for _, part := range [...]string{o.APIVersion, o.Kind, o.Name, string(o.UID)} {
			t.text(part)
		}
		t.flag(o.Controller)
		t.flag(o.BlockOwnerDeletion)
	}
}

// flag encodes nil, false and true as 0, 1 and 2.
func (t *attributesText) flag(f *bool) {
	switch {
	case f == nil:
		t.number(0)
	case *f:
		t.number(2)
	default:
		t.number(1)
	}
}

// show writes the attributes into the pod, which has its name already. The labels are written into the given map, if it is
// not nil, after all else in it is removed.
func (a attributes) show(o *v1.Pod, labels map[string]string) {
	text := shownText{o.Name, a.text.Value()}
	o.Labels, o.Annotations, o.OwnerReferences = text.pairs(labels), text.pairs(nil), text.owners()
}

// shownText decodes attributesText.
type shownText struct {
	name string // of the pod
	rest string
}

func (t *shownText) number() int {
	n, used := uvarint(t.rest)
	t.rest = t.rest[used:]
	return int(n) //nolint:gosec // it was an int
}

func (t *shownText) text(length int) (text string) {
	text, t.rest = t.rest[:length], t.rest[length:]
	return text
}

func (t *shownText) pairs(set map[string]string) map[string]string {
	n := t.number()
	if n == 0 {
		return nil
	}
	if clear(set); set == nil {
		set = make(map[string]string, n)
	}
	for range n {
		key := t.text(t.number())
		switch length := t.number(); length {
		case valueIsName:
			set[key] = t.name
		case valueIsOrdinal:
			set[key] = ordinalOf(t.name)
		default:
			set[key] = t.text(length - valueMarks)
		}
	}
	return set
}

func (t *shownText) owners() (list []metav1.OwnerReference) {
	n := t.number()
	if n == 0 {
		return nil
	}
	list = make([]metav1.OwnerReference, n)
	for i := range list {
		o := &list[i]
		o.APIVersion, o.Kind, o.Name, o.UID = t.text(t.number()), t.text(t.number()), t.text(t.number()), types.UID(t.text(t.number()))
		o.Controller, o.BlockOwnerDeletion = t.flag(), t.flag()
	}
	return list
}

func (t *shownText) flag() *bool { return [...]*bool{nil, &isFalse, &isTrue}[t.number()] }
