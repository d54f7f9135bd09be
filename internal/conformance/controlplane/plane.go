package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/evictkit/evictkit/internal/conformance/controlplane/binaries"
)

// Plane is an etcd and a kube-apiserver on this machine.
type Plane struct {
	Programs binaries.Paths
	// Config is an administrator's, without a rate limit.
	Config *rest.Config

	processes envtest.ControlPlane
	dir       string
}

const (
	// startTimeout is for one program. A busy machine with two cores needs most of it.
	startTimeout = 2 * time.Minute
	// killed is the API server's grace period. It is so short that the API server is killed as by kill -9.
	killed = 1
)

// policy makes the API server log one line for each request of a controller under test, including the taints that it
// writes. Requests reads that log.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  userGroups: ["system:masters"]
- level: Request
  verbs: [patch]
  resources: [{group: "", resources: [nodes]}]
- level: Metadata
`

// StartPlane starts both. Stop stops them and removes what they stored.
func StartPlane(ctx context.Context, log io.Writer) (*Plane, error) {
	found, err := binaries.Find(ctx, log)
	if err != nil {
		return nil, err
	}
	p := &Plane{Programs: found}
	if p.dir, err = os.MkdirTemp("", "evictkit-controlplane-"); err != nil {
		return nil, err
	}
	p.processes.Etcd = &envtest.Etcd{Path: found.Etcd, DataDir: mkdir(p.path("etcd")), StartTimeout: startTimeout, StopTimeout: startTimeout}
	p.processes.Etcd.Configure().Set("unsafe-no-fsync", "true") // nothing kills etcd, and disks vary
	server := &envtest.APIServer{Path: found.APIServer, CertDir: mkdir(p.path("certificates")), StartTimeout: startTimeout, StopTimeout: killed}
	server.Configure().Set("audit-policy-file", p.path("policy.yaml")).Set("audit-log-path", p.path("audit.log"))
	p.processes.APIServer = server
	if err := os.WriteFile(p.path("policy.yaml"), []byte(policy), 0o600); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	if err := p.processes.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), p.Stop())
	}
	admin, err := p.processes.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	p.Config = admin.Config()
	p.Config.QPS = -1
	p.Config.ContentType = "application/vnd.kubernetes.protobuf"
	return p, nil
}

func (p *Plane) path(name string) string { return filepath.Join(p.dir, name) }

// Stop stops everything, and removes what was stored.
func (p *Plane) Stop() error {
	p.KillAPIServer()
	return errors.Join(p.processes.Etcd.Stop(), os.RemoveAll(p.dir))
}

// KillAPIServer kills the API server as kill -9 does.
func (p *Plane) KillAPIServer() {
	_ = p.processes.APIServer.Stop() // it reports that it had to be killed
}

// StartAPIServer starts it again, at the same address, with the same etcd and for the same users.
func (p *Plane) StartAPIServer() error { return p.processes.APIServer.Start() }

// Kubeconfig writes a kubeconfig for a new user, and returns its path.
func (p *Plane) Kubeconfig(user string, groups ...string) (string, error) {
	added, err := p.processes.AddUser(envtest.User{Name: user, Groups: groups}, nil)
	if err != nil {
		return "", err
	}
	content, err := added.KubeConfig()
	if err != nil {
		return "", err
	}
	path := p.path(user + ".kubeconfig")
	return path, os.WriteFile(path, content, 0o600)
}

// Certificate returns a certificate that authenticates a user of that name.
func (p *Plane) Certificate(user string, groups ...string) (tls.Certificate, error) {
	added, err := p.processes.AddUser(envtest.User{Name: user, Groups: groups}, nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(added.Config().CertData, added.Config().KeyData)
}

// mkdir makes a directory. If that fails, using it will fail.
func mkdir(dir string) string {
	_ = os.MkdirAll(dir, 0o755)
	return dir
}
