package controlplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What the modes may do, in the controller's notation.
var (
	watching = []string{"list nodes", "watch nodes", "list pods", "watch pods"}
	beats    = []string{"list leases.coordination.k8s.io in kube-node-lease", "watch leases.coordination.k8s.io in kube-node-lease", "get leases.coordination.k8s.io in kube-node-lease"}
	telling  = []string{"create events", "patch events"}
	tainting = []string{"patch nodes", "patch nodes/status"}
	marking  = []string{"patch pods/status"}
	deleting = []string{"delete pods"}
	evicting = []string{"create pods/eviction"}
	asking   = []string{
		"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io",
		"list configmaps extension-apiserver-authentication in kube-system", "watch configmaps extension-apiserver-authentication in kube-system",
	}
	sets = []string{"list daemonsets.apps", "watch daemonsets.apps"}
)

func leading(lease string) []string {
	const leases = " leases.coordination.k8s.io "
	return []string{"get" + leases + lease + " in kube-system", "create leases.coordination.k8s.io in kube-system", "update" + leases + lease + " in kube-system"}
}

// modes are the ways to run the controller, and exactly what each may do.
var modes = map[string]struct {
	flags          []string
	may            []string
	taints, evicts bool
	lease          string
}{
	"both":            {nil, slices.Concat(watching, beats, telling, tainting, marking, deleting, asking, leading(leaseName)), true, true, leaseName},
	"insecure":        {[]string{"--insecure-serving"}, slices.Concat(watching, beats, telling, tainting, marking, deleting, leading(leaseName)), true, true, leaseName},
	"eviction-api":    {[]string{"--use-eviction-api"}, slices.Concat(watching, beats, telling, tainting, marking, evicting, asking, leading(leaseName)), true, true, leaseName},
	"no-taints":       {[]string{"--enable-taint-manager=false"}, slices.Concat(watching, beats, telling, tainting, marking, deleting, sets, asking, leading(leaseName)), true, false, leaseName},
	"lifecycle":       {[]string{"--half=lifecycle"}, slices.Concat(watching, beats, telling, tainting, marking, asking, leading(leaseName+"-lifecycle")), true, false, leaseName + "-lifecycle"},
	"taint-eviction":  {[]string{"--half=taint-eviction"}, slices.Concat(watching, telling, marking, deleting, asking, leading(leaseName+"-taint-eviction")), false, true, leaseName + "-taint-eviction"},
	"dry-run":         {[]string{"--dry-run"}, slices.Concat(watching, beats, asking), false, false, ""},
	"without-a-lease": {[]string{"--leader-elect=false"}, slices.Concat(watching, beats, telling, tainting, marking, deleting, asking), true, true, ""},
}

var missing = regexp.MustCompile(`no permission to (.*)`)

// Each mode asks for exactly what is listed, and works with no more: none of its requests is forbidden. Only clients
// that the API server authorizes can read its metrics.
func TestEachModeUnderExactlyItsRole(t *testing.T) {
	c := start(t)
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			address := freeAddress(t)
			args := append([]string{"--leader-elect=true", "--metrics-address=" + address, "--debug-address="}, mode.flags...)
			nobody := c.process(t, "nobody-"+name, []string{"nothing"}, c.controller, args...)
			select {
			case <-nobody.done:
			case <-time.After(soon):
				t.Fatal("it goes on without permissions")
			}
			match := missing.FindStringSubmatch(nobody.Log())
			require.NotNil(t, match, nobody.Log())
			require.ElementsMatch(t, mode.may, strings.Split(strings.TrimSpace(match[1]), ", "))

			user, group := "mode-"+name, "mode:"+name
			c.grant(t, group, mode.may)
			p := c.process(t, user, []string{group}, c.controller, args...)
			scheme := "https"
			if name == "insecure" {
				scheme = "http"
			}
			c.eventually(t, func() bool { code, _ := fetch(scheme+"://"+address+"/readyz", ""); return code == http.StatusOK })
			if mode.lease != "" {
				c.leads(t, mode.lease, "")
			}
			if mode.taints {
				c.active(t)
			}
			if mode.evicts {
				c.evictsFrom(t, c.Zone(4)[3])
			}
			c.metricsAreGuarded(t, scheme+"://"+address+"/metrics")
			require.True(t, p.Terminate(soon), p.Log())
			requests, err := c.plane.Requests(user)
			require.NoError(t, err)
			require.NotEmpty(t, requests)
			for _, r := range requests {
				require.NotEqual(t, http.StatusForbidden, r.Code, r)
			}
		})
	}
}

// With nothing served, nobody is asked who he is: it works without the permissions for that, and does not try.
func TestWithNothingServedNobodyIsAsked(t *testing.T) {
	c := start(t)
	const user, group = "unserved", "mode:unserved"
	c.grant(t, group, slices.Concat(watching, beats, telling, tainting, marking, deleting))
	p := c.process(t, user, []string{group}, c.controller, "--metrics-address=", "--debug-address=")
	c.active(t)
	require.True(t, p.Terminate(soon), p.Log())
	requests, err := c.plane.Requests(user)
	require.NoError(t, err)
	require.NotEmpty(t, requests)
	for _, r := range requests {
		require.NotEqual(t, http.StatusForbidden, r.Code, r)
		require.NotContains(t, []string{"configmaps", "tokenreviews"}, r.Resource, r)
	}
}

func (c *cluster) eventually(t *testing.T, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, soon, 50*time.Millisecond)
}

// evictsFrom lets the pods of a node leave because of somebody else's taint, and then restores everything.
func (c *cluster) evictsFrom(t *testing.T, node string) {
	t.Helper()
	pods := map[string]types.UID{}
	c.wait(t, soon, func(now *Now) string {
		for _, name := range c.Pods(node) {
			pod := now.Pod(name)
			if pod == nil {
				return name + " is not there"
			}
			pods[name] = pod.UID
		}
		return ""
	})
	taint := func(patch string) {
		_, err := c.client.CoreV1().Nodes().Patch(c.ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	taint(`{"spec":{"taints":[{"key":"example.com/mode","effect":"NoExecute"}]}}`)
	c.wait(t, soon, func(now *Now) string { return remain(now, pods) })
	taint(`{"spec":{"taints":null}}`)
	c.wait(t, soon, func(now *Now) string { // otherwise pods that are leaving would count as present
		for name := range pods {
			if pod := now.Pod(name); pod != nil && pod.DeletionTimestamp != nil {
				return name + " is still being deleted"
			}
		}
		return ""
	})
	require.NoError(t, c.FillPods(c.ctx))
}

// metricsAreGuarded asks for metrics as nobody, with a wrong token, without permission and with permission.
func (c *cluster) metricsAreGuarded(t *testing.T, url string) {
	t.Helper()
	if strings.HasPrefix(url, "http:") {
		code, err := fetch(url, "")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code)
		return
	}
	token := func(name string) string {
		accounts := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
		_, _ = accounts.Create(c.ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}) // may exist from another mode
		made, err := accounts.CreateToken(c.ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		require.NoError(t, err)
		return made.Status.Token
	}
	may := rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}
	_, _ = c.client.RbacV1().ClusterRoles().Create(c.ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "scraper"}, Rules: []rbacv1.PolicyRule{may}}, metav1.CreateOptions{})
	_, _ = c.client.RbacV1().ClusterRoleBindings().Create(c.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scraper"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "scraper"},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: "scraper"},
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "scraper"},
		},
	}, metav1.CreateOptions{})
	for token, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, token("stranger"): http.StatusForbidden} {
		code, err := fetch(url, token)
		require.NoError(t, err)
		require.Equal(t, want, code, token)
	}
	c.eventually(t, func() bool { code, _ := fetch(url, token("scraper")); return code == http.StatusOK })
	for user, want := range map[string]int{"stranger": http.StatusForbidden, "scraper": http.StatusOK} {
		own, err := c.plane.Certificate(user)
		require.NoError(t, err)
		c.eventually(t, func() bool { code, _ := fetch(url, "", own); return code == want })
	}
}

// fetch returns the status code for a client with that token or certificate.
func fetch(url, token string, own ...tls.Certificate) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: own}, DisableKeepAlives: true}} //nolint:gosec // the controller's own
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

var permission = regexp.MustCompile(`^(\S+) ([^\s./]+)(?:\.([^\s/]+))?(?:/(\S+))?(?: (\S+))??(?: in (\S+))?$`)

// grant lets the group do only what is listed, in the controller's notation.
func (c *cluster) grant(t *testing.T, group string, may []string) {
	t.Helper()
	rules := map[string][]rbacv1.PolicyRule{} // by namespace
	for _, text := range may {
		parts := permission.FindStringSubmatch(text)
		require.NotNil(t, parts, text)
		rule := rbacv1.PolicyRule{Verbs: []string{parts[1]}, APIGroups: []string{parts[3]}, Resources: []string{parts[2]}}
		if parts[4] != "" {
			rule.Resources[0] += "/" + parts[4]
		}
		if parts[5] != "" {
			rule.ResourceNames = []string{parts[5]}
		}
		rules[parts[6]] = append(rules[parts[6]], rule)
	}
	name := strings.ReplaceAll(group, ":", "-")
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}}
	for namespace, rules := range rules {
		about := metav1.ObjectMeta{Name: name, Namespace: namespace}
		if namespace == "" {
			require.NoError(t, c.bind(c.ctx, group, name, rules...))
			continue
		}
		_, err := c.client.RbacV1().Roles(namespace).Create(c.ctx, &rbacv1.Role{ObjectMeta: about, Rules: rules}, metav1.CreateOptions{})
		require.NoError(t, err, fmt.Sprint(rules))
		_, err = c.client.RbacV1().RoleBindings(namespace).Create(c.ctx, &rbacv1.RoleBinding{
			ObjectMeta: about, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}, Subjects: subjects,
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}
