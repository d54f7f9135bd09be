package objects

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json" // as encoding/json, but names of fields match only in their own case
)

// wire is an object of which only the outermost level is decoded.
type wire struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   json.RawMessage `json:"metadata"`
	Spec       json.RawMessage `json:"spec"`
	Status     json.RawMessage `json:"status"`
}

// document takes an object that stands in no list.
func (s *stream) document(w *wire) error {
	if w.Kind == "" {
		return fmt.Errorf("object %d: has no kind", s.objects+1)
	}
	return s.object(w)
}

// object visits a node or pod and counts anything else.
func (s *stream) object(w *wire) error {
	s.objects++
	var o Object
	var meta *metav1.ObjectMeta
	var spec, status any
	switch core := w.APIVersion == "v1" || w.APIVersion == ""; {
	case core && w.Kind == "Node":
		o.Node = &v1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}}
		meta, spec, status = &o.Node.ObjectMeta, &o.Node.Spec, &o.Node.Status
	case core && w.Kind == "Pod":
		o.Pod = &v1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
		meta, spec, status = &o.Pod.ObjectMeta, &o.Pod.Spec, &o.Pod.Status
	default:
		s.count.Skipped++
		if s.count.Kinds == nil {
			s.count.Kinds = make(map[string]int)
		}
		s.count.Kinds[w.Kind]++
		return nil
	}
	for _, part := range []struct {
		name string
		text json.RawMessage
		into any
	}{{"metadata", w.Metadata, meta}, {"spec", w.Spec, spec}, {"status", w.Status, status}} {
		if len(part.text) == 0 {
			continue
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(part.text, part.into); err != nil {
			return s.fail(w, fmt.Errorf("%s: %w", part.name, err))
		}
	}
	if meta.Name == "" {
		return s.fail(w, errors.New("has no name"))
	}
	if o.Pod != nil && meta.Namespace == "" {
		meta.Namespace = "default"
	}
	if err := s.visit(o); err != nil {
		return s.fail(w, err)
	}
	if o.Node != nil {
		s.count.Nodes++
	} else {
		s.count.Pods++
	}
	return nil
}

// fail says which object an error is about.
func (s *stream) fail(w *wire, err error) error {
	var meta struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	_ = kjson.UnmarshalCaseSensitivePreserveInts(w.Metadata, &meta) // as far as it goes
	name := meta.Name
	if meta.Namespace != "" {
		name = meta.Namespace + "/" + name
	}
	return fmt.Errorf("object %d (%s %q): %w", s.objects, w.Kind, name, err)
}
