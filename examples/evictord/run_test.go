package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
)

// kubeconfig writes a file for that server, and returns its path.
func kubeconfig(t testing.TB, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`, server)), 0o600))
	return path
}

// try runs the program without client-go's log, which is global to the process.
func try(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	return run(ctx, o, slog.New(slog.NewTextHandler(out, nil)))
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	small := newAPIServer()
	small.nodes = 2
	small.Start()
	t.Cleanup(small.Close)
	old := newAPIServer()
	old.gitVersion = "v1.18.6"
	old.Start()
	t.Cleanup(old.Close)
	strict := newAPIServer()
	strict.denied = func(verb, resource string) bool { return resource == "nodes/status" || verb == "delete" }
	strict.Start()
	t.Cleanup(strict.Close)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"NoKubeconfig":      {nil, "no kubeconfig: give --kubeconfig FILE, or run in a pod with a service account"},
		"NoSuchFile":        {[]string{"--kubeconfig=/no/such"}, "kubeconfig: stat /no/such: no such file or directory"},
		"EmptyFile":         {[]string{"--kubeconfig=/dev/null"}, "kubeconfig: /dev/null names no cluster"},
		"NotAFlag":          {[]string{"--nonsense"}, "unknown flag: --nonsense"},
		"NotANumber":        {[]string{"--kube-api-qps=many"}, `invalid argument "many" for "--kube-api-qps" flag: strconv.ParseFloat: parsing "many": invalid syntax`},
		"AnArgument":        {[]string{"nonsense"}, `unknown argument "nonsense"`},
		"OutOfRange":        {[]string{"--kube-api-qps=0", "--unhealthy-zone-threshold=2"}, "[--kube-api-qps=0: must be above 0, --unhealthy-zone-threshold=2: must lie in (0,1]]"},
		"NegativeDuration":  {[]string{"--node-monitor-grace-period=-1s"}, "--node-monitor-grace-period=-1s: must be"},
		"ElectionDurations": {[]string{"--leader-elect-renew-deadline=20s"}, "--leader-elect-lease-duration=15s: must be above --leader-elect-renew-deadline"},
		"Everything":        {[]string{"--leader-elect-resource-lock=endpoints", "--leader-elect-retry-period=0", "--leader-elect-lease-duration=5s"}, "[--leader-elect-resource-lock=endpoints: must be leases, --leader-elect-retry-period=0s: must be above 0, --leader-elect-lease-duration=5s: must be above --leader-elect-renew-deadline]"},
		"NoNumber":          {[]string{"--kube-api-qps=NaN"}, "--kube-api-qps=NaN: must be above 0"},
		"NoBurst":           {[]string{"--kube-api-burst=0"}, "--kube-api-burst=0: must be at least 1"},
		"NoLeaseName":       {[]string{"--leader-elect-resource-name=", "--leader-elect-resource-namespace="}, "[--leader-elect-resource-name=: must not be empty, --leader-elect-resource-namespace=: must not be empty]"},
		"LeaseTooShort":     {[]string{"--leader-elect-lease-duration=900ms", "--leader-elect-renew-deadline=500ms", "--leader-elect-retry-period=100ms"}, "--leader-elect-lease-duration=900ms: must be at least 1s"},
		"TooManyRetries":    {[]string{"--leader-elect-retry-period=9s"}, "--leader-elect-renew-deadline=10s: must be above 1.2 times --leader-elect-retry-period"},
		"AnotherFlag":       {[]string{"--node-monitor-period=1m", "--node-startup-grace-period=2m"}, "--node-monitor-grace-period=50s: must exceed --node-monitor-period"},
		"NoUnit":            {[]string{"--node-monitor-grace-period=50"}, `invalid argument "50" for "--node-monitor-grace-period" flag: time: missing unit in duration "50"`},
		"NoAddress":         {[]string{"--metrics-address=10268"}, "--metrics-address=10268: must be host:port"},
		"AddressInUse": {
			[]string{"--kubeconfig", kubeconfig(t, small.URL), "--metrics-address", small.Listener.Addr().String()},
			"--metrics-address=" + small.Listener.Addr().String() + ": cannot serve: listen tcp " + small.Listener.Addr().String() + ": bind: address already in use",
		},
		"TooOld":       {[]string{"--kubeconfig", kubeconfig(t, old.URL)}, "the API server is v1.18.6, which is too old: the oldest supported version is 1.22"},
		"NoPermission": {[]string{"--kubeconfig", kubeconfig(t, strict.URL)}, "no permission to patch nodes/status, delete pods"},
	} {
		t.Run(name, func(t *testing.T) {
			err := try(context.Background(), c.args, io.Discard)
			require.Error(t, err)
			if strings.HasSuffix(c.want, "must be") {
				require.Contains(t, oneLine(err), c.want)
			} else {
				require.Equal(t, c.want, oneLine(err))
			}
		})
	}
}

func TestDryRunNeedsNoPermissionToWrite(t *testing.T) {
	s := newAPIServer()
	s.nodes = 1
	s.denied = func(verb, _ string) bool { return verb != "get" && verb != "list" && verb != "watch" }
	s.Start()
	t.Cleanup(s.Close)
	r := start(t, s, "--dry-run", "--leader-elect=false")
	r.ready(t)
	require.NoError(t, r.stop())
	for request := range s.seen() {
		require.True(t, strings.HasPrefix(request, "GET ") || strings.HasSuffix(request, "/selfsubjectaccessreviews"), request)
	}
}

// TestDryRunHoldsNoLease: it would keep the lease from replicas that act, and needs none because it writes nothing.
func TestDryRunHoldsNoLease(t *testing.T) {
	s := newAPIServer()
	s.nodes = 1
	s.denied = func(verb, _ string) bool { return verb != "get" && verb != "list" && verb != "watch" }
	leases(s, func(*http.Request) bool { return false })
	s.Start()
	t.Cleanup(s.Close)
	r := start(t, s, "--dry-run")
	r.leads(t)
	require.NoError(t, r.stop())
	for request := range s.seen() {
		require.NotContains(t, request, "/namespaces/kube-system/leases")
	}
}

// TestDryRunDecidesAndWritesNothing: it reports a write only after the point where the write would be made.
func TestDryRunDecidesAndWritesNothing(t *testing.T) {
	s := newAPIServer()
	s.nodes = 2
	var wrote atomic.Int32
	s.written = func() { wrote.Add(1) }
	s.Start()
	t.Cleanup(s.Close)
	r := start(t, s, "--dry-run", "--leader-elect=false", "--node-monitor-grace-period=1s", "--node-monitor-period=100ms")
	require.Eventually(t, func() bool {
		return strings.Contains(fetch("http://"+r.debug+"/debug/evictor?explain="+nodeName(0)), "unreachable:NoSchedule")
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, r.stop())
	require.Zero(t, wrote.Load())
}

var serving = regexp.MustCompile(`msg=serving address=(\S+)`)

func fetch(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return string(body)
}

func TestWhatIsPendingIsTold(t *testing.T) {
	for name, watchLists := range map[string]bool{"pages": false, "watch-list": true} {
		t.Run(name, func(t *testing.T) { tellsWhatIsPending(t, watchLists) })
	}
}

func tellsWhatIsPending(t *testing.T, watchLists bool) {
	s := newAPIServer()
	s.nodes, s.pods, s.watchLists = 3, 6, watchLists
	s.Start()
	t.Cleanup(s.Close)
	r := start(t, s, "--leader-elect=false")
	r.ready(t)
	require.Equal(t, "ok\n", fetch("http://"+r.metrics+"/healthz"))
	require.Eventually(t, func() bool {
		return strings.Contains(fetch("http://"+r.metrics+"/metrics"), `node_collector_zone_size{zone=":`)
	}, 20*time.Second, 10*time.Millisecond)
	require.Contains(t, fetch("http://"+r.metrics+"/metrics"), `rest_client_requests_total{code="200",`)
	requests := 3 // a watch-list that is refused, the list, the watch
	if watchLists {
		requests = 1
	}
	for _, path := range []string{"/api/v1/nodes", "/api/v1/pods", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"} {
		require.Equal(t, requests, s.seen()["GET "+path], path)
	}
	var told state
	require.NoError(t, json.Unmarshal([]byte(fetch("http://"+r.debug+"/debug/evictor")), &told))
	require.Equal(t, "yes", told.MayWrite)
	require.Equal(t, "yes", told.Observer)
	require.Len(t, told.Zones, 3)
	require.Contains(t, fetch("http://"+r.debug+"/debug/evictor?explain="+nodeName(0)), "seen for the first time")
	require.NoError(t, r.stop())
	require.NotContains(t, fetch("http://"+r.metrics+"/metrics"), "node_collector", "nobody serves any more")
}

// leases makes a server keep the lease of one election.
func leases(s *apiServer, refuse func(r *http.Request) bool) {
	var mu sync.Mutex
	var kept []byte
	s.election = func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case refuse(r):
			s.refuse(w, apierrors.NewServiceUnavailable("down"))
			return
		case r.Method != http.MethodGet:
			kept, _ = io.ReadAll(r.Body)
		case kept == nil:
			s.refuse(w, apierrors.NewNotFound(v1.Resource("leases"), "none"))
			return
		}
		_, _ = w.Write(kept)
	}
}

func TestTheEndHandsTheLeaseOver(t *testing.T) {
	s := newAPIServer()
	s.nodes = 1
	leases(s, func(*http.Request) bool { return false })
	s.Start()
	t.Cleanup(s.Close)
	first := start(t, s)
	first.ready(t)
	first.leads(t)
	second := start(t, s)
	second.ready(t)
	require.Contains(t, fetch("http://"+second.debug+"/debug/evictor"), errFollower.Error())
	for r, leads := range map[*running]string{first: "1", second: "0"} {
		require.Contains(t, fetch("http://"+r.metrics+"/metrics"), `leader_election_master_status{name="evictkit-controller"} `+leads)
	}
	for _, agent := range []string{"evictkit-controller/nodes", "evictkit-controller/leader-election"} {
		require.Contains(t, s.agents(), agent)
	}
	require.NoError(t, first.stop())
	began := time.Now()
	second.leads(t)
	require.Less(t, time.Since(began), 10*time.Second, "it does not wait for a lease of 15 s to end")
	require.NoError(t, second.stop())
}

func TestALostLeaseEndsTheProgram(t *testing.T) {
	s := newAPIServer()
	s.nodes = 1
	down := make(chan struct{})
	leases(s, func(*http.Request) bool {
		select {
		case <-down:
			return true
		default:
			return false
		}
	})
	s.Start()
	t.Cleanup(s.Close)
	r := start(t, s, "--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=100ms")
	r.leads(t)
	close(down)
	select {
	case err := <-r.ended:
		require.ErrorIs(t, err, errLostLease)
	case <-time.After(time.Minute):
		require.Fail(t, "it goes on without a lease")
	}
}

// TestAFollowerWritesNothing: it sees silent nodes, and reports them only once the leader's lease has ended.
func TestAFollowerWritesNothing(t *testing.T) {
	s := newAPIServer()
	s.nodes = 2
	holder, renewed, duration := "another", metav1.NowMicro(), int32(4)
	first := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "evictkit-controller"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed, AcquireTime: &renewed, LeaseDurationSeconds: &duration},
	}
	var taken, early atomic.Bool
	leases(s, func(*http.Request) bool { return false })
	kept := s.election
	s.election = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && !taken.Load() {
			s.encode(w, first.DeepCopy())
			return
		}
		taken.Store(true)
		kept(w, r)
	}
	wrote := make(chan struct{}, 1000)
	s.written = func() {
		if !taken.Load() {
			early.Store(true)
		}
		wrote <- struct{}{}
	}
	s.Start()
	t.Cleanup(s.Close)
	r := start(t, s, "--node-monitor-grace-period=1s", "--node-monitor-period=100ms")
	require.Eventually(t, func() bool {
		return strings.Contains(fetch("http://"+r.debug+"/debug/evictor?explain="+nodeName(0)), "Unknown")
	}, time.Minute, 10*time.Millisecond)
	select {
	case <-wrote:
	case <-time.After(time.Minute):
		require.Fail(t, "the next leader writes nothing")
	}
	require.False(t, early.Load())
	require.NoError(t, r.stop())
}

// TestWhatIsIllIsNamed: /readyz names what fails. A probe reads only the code, and a restart would not repair a broken
// watch.
func TestWhatIsIllIsNamed(t *testing.T) {
	ill := errors.New("ill")
	for part, codes := range map[string]struct{ healthz, readyz int }{
		"lease":   {http.StatusServiceUnavailable, http.StatusServiceUnavailable},
		"passes":  {http.StatusServiceUnavailable, http.StatusServiceUnavailable},
		"watches": {http.StatusOK, http.StatusServiceUnavailable},
		"none":    {http.StatusOK, http.StatusOK},
	} {
		about := func(name string) error {
			if name == part {
				return ill
			}
			return nil
		}
		parts := func() []clientgo.Part {
			return []clientgo.Part{{Name: "watches", Err: about("watches")}, {Name: "passes", Err: about("passes")}}
		}
		handler := observed(metrics.New(metrics.Options{}), func() error { return about("lease") }, parts, new(security).guard)
		for path, code := range map[string]int{"/healthz": codes.healthz, "/readyz": codes.readyz} {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
			require.Equal(t, code, answer.Code, path+" "+part)
			if part == "none" {
				require.Equal(t, "ok\n", answer.Body.String())
			} else {
				require.Equal(t, part+": ill\n", answer.Body.String())
			}
		}
	}
}

// TestALeaderThatSeesNothingGivesTheLeaseUp: two API servers share one etcd, and the one that the leader uses stops
// serving leases of nodes. Everything else works, including the leader's own lease.
func TestALeaderThatSeesNothingGivesTheLeaseUp(t *testing.T) {
	var broken atomic.Bool
	a, b := newAPIServer(), newAPIServer()
	a.nodes, b.nodes = 200, 200 // of which some renew at any time
	leases(a, func(*http.Request) bool { return false })
	b.election = a.election
	inner := a.Server.Config.Handler
	a.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() && strings.Contains(r.URL.Path, "/namespaces/kube-node-lease/leases") {
			w.Header().Set("Content-Type", contentType)
			a.refuse(w, apierrors.NewServiceUnavailable("watch cache"))
			return
		}
		inner.ServeHTTP(w, r)
	})
	for _, s := range []*apiServer{a, b} {
		s.Start()
		t.Cleanup(s.Close)
	}
	flags := []string{"--node-monitor-grace-period=5s", "--node-monitor-period=500ms"} // the guard looks after 2 s
	first := start(t, a, flags...)
	first.ready(t)
	first.leads(t)
	second := start(t, b, flags...)
	second.ready(t)
	broken.Store(true)
	a.CloseClientConnections()
	second.leads(t)
	require.NotContains(t, fetch("http://"+first.debug+"/debug/evictor"), `"mayWrite": "yes"`)
	for _, path := range []string{"/healthz", "/readyz"} {
		require.Contains(t, fetch("http://"+first.metrics+path), "watches: ")
		require.Equal(t, "ok\n", fetch("http://"+second.metrics+path))
	}
	require.NoError(t, first.stop())
	require.NoError(t, second.stop())
}

// TestARenewalThatHangsCostsNoLease: it is given up in time for another try.
func TestARenewalThatHangsCostsNoLease(t *testing.T) {
	s := newAPIServer()
	s.nodes = 1
	var hang, hung, after atomic.Bool
	leases(s, func(*http.Request) bool { return false })
	kept := s.election
	s.election = func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && hang.CompareAndSwap(true, false):
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			hung.Store(true)
			return
		case r.Method == http.MethodPut && hung.Load():
			after.Store(true)
		}
		kept(w, r)
	}
	s.Start()
	t.Cleanup(s.Close)
	r := start(t, s, "--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=100ms")
	r.leads(t)
	hang.Store(true)
	require.Eventually(t, after.Load, time.Minute, 10*time.Millisecond)
	r.leads(t)
	require.NoError(t, r.stop())
}

// running is the program, run in this process.
type running struct {
	cancel         context.CancelFunc
	ended          chan error
	metrics, debug string
}

// log finds the served addresses in the log.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) addresses() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, match := range serving.FindAllStringSubmatch(l.text.String(), -1) {
		found = append(found, match[1])
	}
	return found
}

func start(t *testing.T, s *apiServer, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, ended: make(chan error, 1)}
	t.Cleanup(cancel)
	out := &log{}
	go func() {
		r.ended <- try(ctx, append([]string{"--kubeconfig", kubeconfig(t, s.URL), "--metrics-address=127.0.0.1:0", "--debug-address=127.0.0.1:0", "--insecure-serving"}, args...), out)
	}()
	require.Eventually(t, func() bool { return len(out.addresses()) == 2 }, time.Minute, 10*time.Millisecond)
	r.metrics, r.debug = out.addresses()[0], out.addresses()[1]
	return r
}

func (r *running) ready(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return fetch("http://"+r.metrics+"/readyz") == "ok\n" }, time.Minute, 10*time.Millisecond)
}

func (r *running) leads(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(fetch("http://"+r.debug+"/debug/evictor"), `"mayWrite": "yes"`) }, time.Minute, 10*time.Millisecond)
}

// stop ends the program as SIGTERM does.
func (r *running) stop() error {
	r.cancel()
	return <-r.ended
}

// An outage of the API is noticed before the grace period ends, however short that is.
func TestAShortGraceHasAQuickGuard(t *testing.T) {
	for grace, silence := range map[time.Duration]time.Duration{10 * time.Second: 4 * time.Second, 50 * time.Second: 20 * time.Second, time.Hour: 20 * time.Second} {
		o := options{}
		o.evictor.Nodes.NodeMonitorGracePeriod = grace
		require.Equal(t, silence, watching(&o, nil).LeaseSilence)
	}
}
