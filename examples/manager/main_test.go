package main

import (
	"context"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

func TestOnlyTheLeaderWrites(t *testing.T) {
	elected := make(chan struct{})
	var blind error
	may := leading(elected, func() error { return blind })
	require.Error(t, may())
	close(elected)
	require.NoError(t, may())
	blind = errors.New("blind")
	require.ErrorIs(t, may(), blind)
	require.False(t, everywhere(nil).NeedLeaderElection(), "the others watch")
}

// TestTheManagerIsProbed: it is alive, and not ready while it does not see the cluster; asked to end, it ends.
func TestTheManagerIsProbed(t *testing.T) {
	before := metrics.Registry
	metrics.Registry = prometheus.NewRegistry()
	defer func() { metrics.Registry = before }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	require.NoError(t, flag.Set("health-address", address))
	require.NoError(t, flag.Set("metrics-address", "0"))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, &rest.Config{Host: "http://127.0.0.1:1"}) }()
	code := func(path string) int {
		response, err := http.Get("http://" + address + path)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	require.Eventually(t, func() bool { return code("/readyz") == http.StatusInternalServerError }, time.Minute, 10*time.Millisecond)
	require.Equal(t, http.StatusOK, code("/healthz"))
	cancel()
	require.NoError(t, <-ended)
}

// TestTheProgramIsShort: what it takes, with leadership, health and errors, is one function of at most 40 lines.
func TestTheProgramIsShort(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "main.go", nil, 0)
	require.NoError(t, err)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "run" {
			require.LessOrEqual(t, files.Position(f.End()).Line-files.Position(f.Pos()).Line+1, 40)
			return
		}
	}
	require.Fail(t, "there is no run")
}
