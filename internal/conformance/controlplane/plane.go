package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Plane is an etcd and a kube-apiserver on this machine.
type Plane struct {
	Programs Programs
	// Config is that of an administrator, without a limit of requests.
	Config *rest.Config

	processes envtest.ControlPlane
	dir       string
}

const (
	// startTimeout is for one program; a machine of two cores that is busy needs most of it.
	startTimeout = 2 * time.Minute
	// killed is how long the API server is given to end in order: none, it is ended as kill -9 does.
	killed = 1
)

// policy lets the API server note one line for each request of a controller under test, which is what Requests counts.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  userGroups: ["system:masters"]
- level: Metadata
`

// StartPlane starts both. Stop ends them and removes what they stored.
func StartPlane(ctx context.Context, log io.Writer) (*Plane, error) {
	programs, err := FindPrograms(ctx, log)
	if err != nil {
		return nil, err
	}
	p := &Plane{Programs: programs}
	if p.dir, err = os.MkdirTemp("", "evictkit-controlplane-"); err != nil {
		return nil, err
	}
	p.processes.Etcd = &envtest.Etcd{Path: programs.Etcd, DataDir: mkdir(p.path("etcd")), StartTimeout: startTimeout, StopTimeout: startTimeout}
	p.processes.Etcd.Configure().Set("unsafe-no-fsync", "true") // nothing kills etcd, and disks differ
	server := &envtest.APIServer{Path: programs.APIServer, CertDir: mkdir(p.path("certificates")), StartTimeout: startTimeout, StopTimeout: killed}
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

// Stop ends what runs, and removes what was stored.
func (p *Plane) Stop() error {
	p.KillAPIServer()
	return errors.Join(p.processes.Etcd.Stop(), os.RemoveAll(p.dir))
}

// KillAPIServer ends the API server as kill -9 does.
func (p *Plane) KillAPIServer() {
	_ = p.processes.APIServer.Stop() // says that it had to be killed
}

// StartAPIServer starts it again: at the same address, with the same etcd and for the same users.
func (p *Plane) StartAPIServer() error { return p.processes.APIServer.Start() }

// Kubeconfig writes the file for a user of its own, who may do everything, and returns its path.
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
