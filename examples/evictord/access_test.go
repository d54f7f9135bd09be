package main

import (
	"io"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
)

// review answers whether an action is allowed.
func (s *apiServer) review(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	review, ok := obj.(*authorizationv1.SelfSubjectAccessReview)
	if err != nil || !ok {
		s.refuse(w, apierrors.NewBadRequest("no review"))
		return
	}
	asked := review.Spec.ResourceAttributes
	resource := asked.Resource
	if asked.Subresource != "" {
		resource += "/" + asked.Subresource
	}
	review.Status.Allowed = !s.denied(asked.Verb, resource)
	w.WriteHeader(http.StatusCreated)
	s.encode(w, review)
}

// accept answers a POST with the posted object.
func (s *apiServer) accept(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		s.refuse(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	if event, ok := obj.(*v1.Event); ok {
		event.ResourceVersion = "1"
	}
	w.WriteHeader(http.StatusCreated)
	s.encode(w, obj)
}
