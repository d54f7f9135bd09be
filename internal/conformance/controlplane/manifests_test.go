package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// The groups of users: ours may do what the manifests say, evictors create evictions too, and administrators everything.
// Requests of all of them are counted.
const (
	ours           = "ours"
	evictors       = "evictors"
	administrators = "administrators"
)

// applyManifests creates what the manifests of our controller say, which the API server must take without a warning about
// any field, and gives its permissions to the group of our users too.
func (c *cluster) applyManifests(ctx context.Context) error {
	config := rest.CopyConfig(c.plane.Config)
	config.ContentType = "" // manifests are JSON
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "controller", "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("%d manifests", len(files)))
	}
	for _, file := range files {
		objects, err := readObjects(file)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := create(ctx, client, mapper, object); err != nil {
				return fmt.Errorf("%s of %s: %w", object.GetKind(), file, err)
			}
		}
	}
	return nil
}

func readObjects(file string) (objects []*unstructured.Unstructured, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, object)
	}
}

func create(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	if subjects, ok, _ := unstructured.NestedSlice(object.Object, "subjects"); ok {
		subjects = append(subjects, map[string]any{"kind": rbacv1.GroupKind, "apiGroup": rbacv1.GroupName, "name": ours})
		if err := unstructured.SetNestedSlice(object.Object, subjects, "subjects"); err != nil {
			return err
		}
	}
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	resource := dynamic.ResourceInterface(client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = resource.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

// bind lets a group do what a role says, which is made where it has rules.
func (c *cluster) bind(ctx context.Context, group, role string, rules ...rbacv1.PolicyRule) error {
	rbac := c.client.RbacV1()
	if len(rules) > 0 {
		if _, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: rules}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	_, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}, metav1.CreateOptions{})
	return err
}
