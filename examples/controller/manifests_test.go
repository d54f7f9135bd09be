package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// decoded reads the documents of a manifest strictly, by their kind.
func decoded(t *testing.T, path string) (roles []rbacv1.Role, deployments []appsv1.Deployment) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, document := range strings.Split(string(text), "\n---\n") {
		var kind struct {
			Kind string `json:"kind"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(document), &kind))
		var into any
		switch kind.Kind {
		case "Role", "ClusterRole": // the second has no namespace, and else the same fields
			roles = append(roles, rbacv1.Role{})
			into = &roles[len(roles)-1]
		case "Deployment":
			deployments = append(deployments, appsv1.Deployment{})
			into = &deployments[len(deployments)-1]
		case "RoleBinding", "ClusterRoleBinding":
			into = &rbacv1.RoleBinding{}
		default:
			into = &v1.ServiceAccount{}
		}
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), into), document)
	}
	return roles, deployments
}

// TestTheManifestsGiveWhatIsNeededAndNoMore for the flags of the Deployment.
func TestTheManifestsGiveWhatIsNeededAndNoMore(t *testing.T) {
	roles, _ := decoded(t, "manifests/rbac.yaml")
	_, deployments := decoded(t, "manifests/deployment.yaml")
	require.Len(t, deployments, 1)
	require.EqualValues(t, 2, *deployments[0].Spec.Replicas)
	o, err := parse(deployments[0].Spec.Template.Spec.Containers[0].Args, io.Discard)
	require.NoError(t, err)
	var given []string
	for _, role := range roles {
		for _, rule := range role.Rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						p := clientgo.Permission{Verb: verb, Group: rule.APIGroups[0], Namespace: role.Namespace, Name: name}
						p.Resource, p.Subresource, _ = strings.Cut(resource, "/")
						given = append(given, p.String())
					}
				}
			}
		}
	}
	var want []string
	for _, p := range needed(&o, clientgo.Options{}) {
		want = append(want, p.String())
	}
	slices.Sort(given)
	slices.Sort(want)
	require.Equal(t, want, given)
}
