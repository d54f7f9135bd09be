package objects

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	object runtime.Object // nil for other kinds
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
	counted := s.count.Read
	if d.object == nil {
		counted = s.count.Skipped
	} else if err := s.visit(d.object); err != nil {
		return s.fail(w, err)
	}
	counted[w.Kind]++
	return nil
}

// decode decodes the rest of an object whose kind is known. Several calls may run in parallel.
func decode(w *wire) *decoded {
	var object runtime.Object
	var meta *metav1.ObjectMeta
	var spec, status any
	switch core := w.APIVersion == "v1" || w.APIVersion == ""; {
	case core && w.Kind == "Node":
		o := &v1.Node{}
		object, meta, spec, status = o, &o.ObjectMeta, &o.Spec, &o.Status
	case core && w.Kind == "Pod":
		o := &v1.Pod{}
		object, meta, spec, status = o, &o.ObjectMeta, &o.Spec, &o.Status
	case w.Kind == "PodDisruptionBudget" && strings.HasPrefix(w.APIVersion, "policy/"):
		o := &policyv1beta1.PodDisruptionBudget{}
		object, meta, spec = o, &o.ObjectMeta, &o.Spec
	case core && w.Kind == "PersistentVolume":
		o := &v1.PersistentVolume{}
		object, meta, spec = o, &o.ObjectMeta, &o.Spec
	case core && w.Kind == "PersistentVolumeClaim":
		o := &v1.PersistentVolumeClaim{}
		object, meta, spec = o, &o.ObjectMeta, &o.Spec
	case w.Kind == "Job" && strings.HasPrefix(w.APIVersion, "batch/"):
		o := &batchv1.Job{}
		object, meta, spec, status = o, &o.ObjectMeta, &o.Spec, &o.Status
	case w.Kind == "StatefulSet" && strings.HasPrefix(w.APIVersion, "apps/"):
		o := &appsv1.StatefulSet{}
		object, meta, spec = o, &o.ObjectMeta, &o.Spec
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
	if meta.Name == "" {
		return &decoded{err: errors.New("has no name")}
	}
	if w.Kind != "Node" && w.Kind != "PersistentVolume" {
		meta.Namespace = cmp.Or(meta.Namespace, metav1.NamespaceDefault)
	}
	return &decoded{object: object}
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
