package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

// record is for internal/conformance/alerts, which runs the queries of the dashboard and the alerts on what is
// recorded.
var record = flag.String("record", "", "directory for the scrapes of TestARecordedRun, each in a file named by its seconds")

const scrapePeriod = 30 * time.Second

// scrapes returns the answers of /metrics while nodes, a zone, the API server and all zones fail, one after another,
// and disruption budgets refuse pods: two hours of virtual time.
func scrapes(t *testing.T) (texts []string) {
	t.Helper()
	c := evictortest.New(t, evictortest.Zone("eu:a", 5), evictortest.Zone("eu:b", 5), evictortest.PodsPerNode(4))
	m := metrics.New(metrics.Options{Clock: c.Clock()})
	answered := func(code int) {
		transport := m.Transport(roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Body: http.NoBody}, nil
		}))
		response, err := transport.RoundTrip(httptest.NewRequest(http.MethodPatch, "https://10.0.0.1/", nil))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	var leads, sees, down bool
	c.FailWrites(func(write, object string) error {
		switch {
		case down:
			answered(http.StatusServiceUnavailable)
			return apierrors.NewServiceUnavailable("down")
		case write == "evict" && strings.HasSuffix(object, "-p3"):
			answered(http.StatusTooManyRequests)
			return apierrors.NewTooManyRequests("a disruption budget forbids it", 0)
		}
		answered(http.StatusOK)
		return nil
	})
	unless := func(well bool, why string) error {
		if well {
			return nil
		}
		return errors.New(why)
	}
	mayWrite := func() error { return unless(leads, "another leads") }
	health := func() error { return unless(sees, "watches are broken") }
	pulled := map[string]string{}
	b := brakesOf(t.Context(), "", func(context.Context) (map[string]string, error) { return pulled, nil }, c.Clock(), slog.New(slog.DiscardHandler))
	bounds, err := budgetOf(t, c.Clock(), "bounds: [{name: all, per: topology.kubernetes.io/zone, of: Bad, max: 100%}]")
	require.NoError(t, err)
	options, err := bounds.on(evictor.DefaultConfig().Nodes, evictor.Options{
		Clock: c.Clock(), Observer: m,
		Gate: gate.All(gate.Leader(mayWrite), gate.Breaker(func(zone.Key) error { return health() }), b.gate()),
	})
	require.NoError(t, err)
	e, err := evictor.New(evictor.DefaultConfig(), m.Clients(c.Clients()), options)
	require.NoError(t, err)
	b.attach(asControllers(e), c.Clients().Nodes, false)
	m.Watch(e.Nodes(), e.Pods(), health)
	c.Drive(e.Step)
	program, err := parse(nil, io.Discard)
	require.NoError(t, err)
	rival := newBeside(nil, &program, c.Clients().Nodes, c.Clock(), slog.New(slog.DiscardHandler))
	handler := observed(m, func() error { return nil }, func() []clientgo.Part { return nil }, (&security{}).guard, leading("evictkit-controller", mayWrite), b, unread(health), bounds, rival.writes)
	lasts := func(d time.Duration) {
		for range d / scrapePeriod {
			c.Advance(scrapePeriod)
			b.look(t.Context())
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			require.Equal(t, http.StatusOK, answer.Code)
			texts = append(texts, answer.Body.String())
		}
	}
	lasts(5 * time.Minute) // sees nothing and follows
	leads, sees = true, true
	e.Kick()
	pulled = map[string]string{"all": "tried out"}
	lasts(5 * time.Minute)
	pulled = nil
	c.Fail("a-0", "a-1")
	lasts(20 * time.Minute)
	c.Recover("a-0", "a-1")
	lasts(10 * time.Minute)
	c.Fail("b-0", "b-1", "b-2")
	lasts(10 * time.Minute)
	down = true
	c.Recover("b-0")
	lasts(10 * time.Minute)
	down = false
	lasts(20 * time.Minute)
	c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "b-0", "b-3", "b-4")
	lasts(20 * time.Minute)
	c.Recover("a-0", "a-1", "a-2", "a-3", "a-4", "b-0", "b-1", "b-2", "b-3", "b-4")
	lasts(20 * time.Minute)
	return texts
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var (
	typed    = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	labelled = regexp.MustCompile(`([a-z_]+)="`)
)

// promised returns the name, the type and the labels of each metric that is served, but for those of the Go runtime.
func promised(served string) (all []string) {
	for _, match := range typed.FindAllStringSubmatch(served, -1) {
		name, kind := match[1], match[2]
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		var labels []string
		for _, sample := range regexp.MustCompile(`(?m)^`+name+`(?:_bucket|_sum|_count)?\{(.*)\}`).FindAllStringSubmatch(served, -1) {
			for _, label := range labelled.FindAllStringSubmatch(sample[1], -1) {
				labels = append(labels, label[1])
			}
		}
		slices.Sort(labels)
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", name, kind, strings.Join(slices.Compact(labels), ","))))
	}
	return all
}

var fullName = regexp.MustCompile(`fqName: "([^"]+)"`)

// TestARecordedRun has every metric of the controller. It writes files if a directory is given.
func TestARecordedRun(t *testing.T) {
	texts := scrapes(t)
	require.Len(t, texts, int(2*time.Hour/scrapePeriod))
	last := texts[len(texts)-1]
	text, err := os.ReadFile("metrics.txt")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(text)), strings.Join(promised(last), "\n"), "a change needs a line in CHANGELOG.md")
	described := make(chan *prometheus.Desc, 100)
	metrics.New(metrics.Options{}).Describe(described)
	close(described)
	for one := range described {
		name := fullName.FindStringSubmatch(one.String())[1]
		require.Contains(t, last, "\n"+name, "nothing of it happened")
	}
	if *record == "" {
		return
	}
	for i, text := range texts {
		seconds := (time.Duration(i+1) * scrapePeriod) / time.Second
		require.NoError(t, os.WriteFile(filepath.Join(*record, fmt.Sprint(int64(seconds))), []byte(text), 0o600))
	}
}
