package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"
)

// list is the state of the list whose items are being read.
type list struct {
	kind string // "" until it is read, because kubectl prints it after the items
	// Items without a kind that came before the kind of the list were guessed. These are the numbers of the first that
	// looked like a Node, like a Pod, and like neither; 0 means none.
	node, pod, other int
}

// itemKind is the kind of the list's items: Node for NodeList, "" for List, whose items have kinds of their own.
func (l *list) itemKind() string { return strings.TrimSuffix(l.kind, "List") }

// item reads one item of a list.
func (s *stream) item(l *list, w *wire) error {
	if w.Kind == "" {
		w.Kind = l.itemKind()
	}
	if w.Kind == "" {
		w.Kind = l.guess(w, s.objects+1)
	}
	return s.object(w)
}

// items reads a whole list that was parsed at once.
func (s *stream) items(l *list, text []byte) error {
	var items []wire
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &items); err != nil {
		return fmt.Errorf("items: %w", err)
	}
	for i := range items {
		if err := s.item(l, &items[i]); err != nil {
			return err
		}
	}
	return l.end()
}

// guess returns the kind of an item without one, by fields that every pod and every node has.
func (l *list) guess(w *wire, number int) string {
	var spec struct {
		Containers []json.RawMessage `json:"containers"`
	}
	var status struct {
		NodeInfo json.RawMessage `json:"nodeInfo"`
		Capacity json.RawMessage `json:"capacity"`
	}
	// What cannot be decoded looks like neither.
	_, _ = kjson.UnmarshalCaseSensitivePreserveInts(w.Spec, &spec), kjson.UnmarshalCaseSensitivePreserveInts(w.Status, &status)
	kind, first := "", &l.other
	switch {
	case len(spec.Containers) > 0:
		kind, first = "Pod", &l.pod
	case len(status.NodeInfo) > 0 || len(status.Capacity) > 0:
		kind, first = "Node", &l.node
	}
	if *first == 0 {
		*first = number
	}
	return kind
}

// end checks the guesses once the whole list is read.
func (l *list) end() error {
	if l.kind == "" {
		return errors.New("the list ends without its kind: is the file cut off?")
	}
	for _, guess := range []struct {
		number int
		kind   string
	}{{l.node, "Node"}, {l.pod, "Pod"}, {l.other, ""}} {
		item := l.itemKind()
		wrong := guess.kind != item
		if guess.kind == "" {
			wrong = item == "" || item == "Node" || item == "Pod"
		}
		if guess.number > 0 && wrong {
			return fmt.Errorf("object %d: has no kind, and does not look like an item of a %s", guess.number, l.kind)
		}
	}
	return nil
}
