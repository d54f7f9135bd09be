package controlplane

import (
	"context"
	"fmt"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The groups of users: ours may do what the manifests say, evictors may also create evictions, and administrators may
// do everything. The requests of all of them are counted.
const (
	ours           = "ours"
	evictors       = "evictors"
	administrators = "administrators"
)

// manifests is where the overlays of our controller are.
var manifests = filepath.Join("..", "..", "..", "examples", "evictord", "manifests", "overlays")

// objects reads and writes objects of any kind.
type objects struct {
	client dynamic.Interface
	mapper meta.RESTMapper
}

func (c *cluster) objects() (*objects, error) {
	config := rest.CopyConfig(c.plane.Config)
	config.ContentType = "" // manifests are JSON
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &objects{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))}, nil
}

// of returns the client for an object.
func (o *objects) of(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := o.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return o.client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return o.client.Resource(mapping.Resource), nil
}

// applyManifests creates the objects of the take-over manifests. The API server must accept them without a warning
// about any field. It also gives their permissions to the group of our users.
func (c *cluster) applyManifests(ctx context.Context) error {
	to, err := c.objects()
	if err != nil {
		return err
	}
	rendered, err := render("take-over")
	if err != nil {
		return err
	}
	for _, object := range rendered {
		if err := to.create(ctx, object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// render returns what kustomize makes of an overlay.
func render(overlay string) (objects []*unstructured.Unstructured, err error) {
	return renderDir(filepath.Join(manifests, overlay))
}

func renderDir(dir string) (objects []*unstructured.Unstructured, err error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	for _, resource := range resources.Resources() {
		text, err := resource.MarshalJSON()
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func (o *objects) create(ctx context.Context, object *unstructured.Unstructured) error {
	if subjects, ok, _ := unstructured.NestedSlice(object.Object, "subjects"); ok {
		subjects = append(subjects, map[string]any{"kind": rbacv1.GroupKind, "apiGroup": rbacv1.GroupName, "name": ours})
		if err := unstructured.SetNestedSlice(object.Object, subjects, "subjects"); err != nil {
			return err
		}
	}
	resource, err := o.of(object)
	if err != nil {
		return err
	}
	_, err = resource.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

// bind lets a group do what a role says. It creates the role if rules are given.
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
