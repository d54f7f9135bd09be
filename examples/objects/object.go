package objects

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json" // like encoding/json, but case-sensitive
)

// wire is an object of which only the outermost level is decoded.
type wire struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   json.RawMessage `json:"metadata"`
	Spec       json.RawMessage `json:"spec"`
	Status     json.RawMessage `json:"status"`

	decoded *decoded // nil if not decoded yet
}

// decoded is the rest of an object.
type decoded struct {
	object Object // empty for other kinds
	err    error
}

// document reads an object that is not in a list.
func (s *stream) document(w *wire) error {
	if w.Kind == "" {
		return fmt.Errorf("object %d: has no kind", s.objects+1)
	}
	return s.object(w)
}

// object visits an object of a kind that is read, and counts everything else.
func (s *stream) object(w *wire) error {
	s.objects++
	d := w.decoded
	if d == nil {
		d = decode(w)
	}
	if d.err != nil {
		return s.fail(w, d.err)
	}
	counted := &s.count.Skipped
	switch {
	case d.object.Node != nil:
		counted = &s.count.Nodes
	case d.object.Pod != nil:
		counted = &s.count.Pods
	case d.object.Budget != nil:
		counted = &s.count.Budgets
	case d.object.Volume != nil:
		counted = &s.count.Volumes
	case d.object.Claim != nil:
		counted = &s.count.Claims
	case d.object.Job != nil:
		counted = &s.count.Jobs
	default:
		if s.count.Kinds == nil {
			s.count.Kinds = make(map[string]int)
		}
		s.count.Kinds[w.Kind]++
		*counted++
		return nil
	}
	if err := s.visit(d.object); err != nil {
		return s.fail(w, err)
	}
	*counted++
	return nil
}

// decode decodes the rest of an object whose kind is known. Several calls may run in parallel.
func decode(w *wire) *decoded {
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
	case w.Kind == "PodDisruptionBudget" && strings.HasPrefix(w.APIVersion, "policy/"):
		o.Budget = &Budget{}
		meta, spec = &metav1.ObjectMeta{}, &o.Budget.BudgetSpec
	case core && w.Kind == "PersistentVolume":
		o.Volume = &v1.PersistentVolume{TypeMeta: metav1.TypeMeta{Kind: w.Kind, APIVersion: "v1"}}
		meta, spec = &o.Volume.ObjectMeta, &o.Volume.Spec
	case core && w.Kind == "PersistentVolumeClaim":
		o.Claim = &v1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{Kind: w.Kind, APIVersion: "v1"}}
		meta, spec = &o.Claim.ObjectMeta, &o.Claim.Spec
	case w.Kind == "Job" && strings.HasPrefix(w.APIVersion, "batch/"):
		o.Job = &Job{}
		meta, spec, status = &metav1.ObjectMeta{}, &o.Job.Spec, &o.Job.Status
	default:
		return &decoded{}
	}
	for _, part := range []struct {
		name string
		text json.RawMessage
		into any
	}{{"metadata", w.Metadata, meta}, {"spec", w.Spec, spec}, {"status", w.Status, status}} {
		if len(part.text) == 0 || part.into == nil {
			continue
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(part.text, part.into); err != nil {
			return &decoded{err: fmt.Errorf("%s: %w", part.name, err)}
		}
	}
	switch {
	case meta.Name == "":
		return &decoded{err: errors.New("has no name")}
	case o.Pod != nil:
		meta.Namespace = cmp.Or(meta.Namespace, metav1.NamespaceDefault)
	case o.Claim != nil:
		meta.Namespace = cmp.Or(meta.Namespace, metav1.NamespaceDefault)
	case o.Job != nil:
		o.Job.Namespace, o.Job.Name = cmp.Or(meta.Namespace, metav1.NamespaceDefault), meta.Name
	case o.Budget != nil:
		o.Budget.Namespace, o.Budget.Name = cmp.Or(meta.Namespace, metav1.NamespaceDefault), meta.Name
	}
	return &decoded{object: o}
}

// fail adds to an error which object it is about.
func (s *stream) fail(w *wire, err error) error {
	var meta struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	_ = kjson.UnmarshalCaseSensitivePreserveInts(w.Metadata, &meta) // as far as possible
	name := meta.Name
	if meta.Namespace != "" {
		name = meta.Namespace + "/" + name
	}
	return fmt.Errorf("object %d (%s %q): %w", s.objects, w.Kind, name, err)
}
