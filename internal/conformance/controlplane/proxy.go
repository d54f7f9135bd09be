package controlplane

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Proxy stands between one controller and the API server. It shows the controller only a part of the cluster, so that
// many tests can run at a time, and can cut its connection.
type Proxy struct {
	server *httptest.Server

	mu      sync.Mutex
	state   connection
	changed chan struct{}   // guarded by mu: closed when the state changes
	asked   map[string]bool // guarded by mu: what has been answered, such as "watch /api/v1/nodes"
	hold    func(*http.Request) bool
	held    chan struct{} // guarded by mu: closed when held requests may go on
	holds   int           // guarded by mu: requests that have been held
}

// connection is the state of the controller's connection.
type connection uint8

const (
	connected connection = iota
	cut                  // nothing gets through, without an error; what was sent arrives once it is mended
	refused              // as if nobody listened: open and new connections break
)

// StartProxy starts a proxy for a user, who sees only nodes, leases and pods of that fleet. It returns the path of the
// kubeconfig that uses it.
func (p *Plane) StartProxy(user, fleet string, groups ...string) (*Proxy, string, error) {
	added, err := p.processes.AddUser(envtest.User{Name: user, Groups: groups}, nil)
	if err != nil {
		return nil, "", err
	}
	transport, err := rest.TransportFor(added.Config())
	if err != nil {
		return nil, "", err
	}
	target, _, err := rest.DefaultServerUrlFor(added.Config())
	if err != nil {
		return nil, "", err
	}
	proxy := &Proxy{changed: make(chan struct{}), asked: map[string]bool{}}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			narrow(r.Out, fleet)
		},
		Transport: transport, FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error { proxy.note(r.Request); return nil },
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, //nolint:forbidigo // it is how a handler cuts a connection
	}
	proxy.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forward.ServeHTTP(w, proxy.waited(r))
	}))
	proxy.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	proxy.server.Listener = &proxied{proxy.server.Listener, proxy}
	proxy.server.EnableHTTP2 = true
	proxy.server.StartTLS()
	path := p.path(user + ".kubeconfig")
	return proxy, path, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {
			Server:                   proxy.server.URL,
			CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.server.Certificate().Raw}),
		}},
		Contexts: map[string]*clientcmdapi.Context{"c": {Cluster: "c"}}, CurrentContext: "c",
	}, path)
}

// narrow adds the fleet to the selectors of requests for nodes, leases or pods.
func narrow(r *http.Request, fleet string) {
	resource := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if r.Method != http.MethodGet || !slices.Contains([]string{"nodes", "pods", "leases"}, resource) {
		return
	}
	query := r.URL.Query()
	selector := fleetLabel + "=" + fleet
	if had := query.Get("labelSelector"); had != "" {
		selector += "," + had
	}
	query.Set("labelSelector", selector)
	r.URL.RawQuery = query.Encode()
}

// note records what has been answered.
func (p *Proxy) note(r *http.Request) {
	what := strings.ToLower(r.Method)
	if r.URL.Query().Get("watch") != "" {
		what = "watch"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[what+" "+r.URL.Path] = true
}

// Asked says whether all of these have been answered, each in the form "watch /api/v1/nodes" or "get /version".
func (p *Proxy) Asked(what ...string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.ContainsFunc(what, func(one string) bool { return !p.asked[one] })
}

// Hold holds matching requests from now on, as if they were still on their way, until release is called. Then they
// reach the API server, whether or not anybody still waits for the answer.
func (p *Proxy) Hold(which func(*http.Request) bool) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.hold, p.held = which, held
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.hold = nil
		p.mu.Unlock()
		close(held)
	})
}

// Held returns how many requests have been held.
func (p *Proxy) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holds
}

// waited returns the request once it may go on. A request that was held arrives even if nobody waits for it any more.
func (p *Proxy) waited(r *http.Request) *http.Request {
	p.mu.Lock()
	held := p.held
	if p.hold == nil || !p.hold(r) {
		held = nil
	}
	p.mu.Unlock()
	if held == nil {
		return r
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return r // it was not sent completely
	}
	p.mu.Lock()
	p.holds++
	p.mu.Unlock()
	<-held
	r = r.WithContext(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// Cut lets nothing through any more, without an error on either side.
func (p *Proxy) Cut() { p.set(cut) }

// Refuse breaks all connections, including new ones, as if the API server were not running.
func (p *Proxy) Refuse() { p.set(refused) }

// Mend ends Cut and Refuse.
func (p *Proxy) Mend() { p.set(connected) }

func (p *Proxy) set(state connection) {
	p.mu.Lock()
	p.state = state
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	if state == refused {
		p.server.CloseClientConnections()
	}
}

// Stop stops the proxy.
func (p *Proxy) Stop() {
	p.Refuse()
	p.server.Close()
}

// pass returns once something may pass, with an error if it never will.
func (p *Proxy) pass() error {
	for {
		p.mu.Lock()
		state, changed := p.state, p.changed
		p.mu.Unlock()
		switch state {
		case connected:
			return nil
		case refused:
			return net.ErrClosed
		case cut:
		}
		<-changed
	}
}

// proxied is a listener whose connections the proxy controls.
type proxied struct {
	net.Listener
	proxy *Proxy
}

// Accept implements net.Listener.
func (l *proxied) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.proxy.mu.Lock()
		state := l.proxy.state
		l.proxy.mu.Unlock()
		if state != refused {
			return &gated{c, l.proxy}, nil
		}
		_ = c.Close() // the client gets no other answer
	}
}

// gated is a connection that can be cut.
type gated struct {
	net.Conn
	proxy *Proxy
}

// Read implements net.Conn.
func (g *gated) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if errPass := g.proxy.pass(); errPass != nil {
		return 0, errPass
	}
	return n, err
}

// Write implements net.Conn.
func (g *gated) Write(b []byte) (int, error) {
	if err := g.proxy.pass(); err != nil {
		return 0, err
	}
	return g.Conn.Write(b)
}
