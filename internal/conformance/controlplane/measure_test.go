package controlplane

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	settle   = 30 * time.Second // after the lists, before anything is measured
	quietFor = 90 * time.Second
)

// sized is a controller whose resources are measured.
type sized struct {
	*Process
	metrics, debug string // addresses
}

// startSized starts the controller with upstream's defaults, except for exact verdicts, a request rate for large clusters,
// and more flags. It stops it at the end of the test.
func startSized(t *testing.T, plane *Plane, controller, kubeconfig string, more ...string) *sized {
	t.Helper()
	s := &sized{metrics: freeAddress(t), debug: freeAddress(t)}
	var err error
	s.Process, err = plane.StartProcess("size", controller, append([]string{
		"--kubeconfig=" + kubeconfig, "--node-monitor-period=0", "--leader-elect=false", "--kube-api-qps=100", "--kube-api-burst=200",
		"--metrics-address=" + s.metrics, "--debug-address=" + s.debug, "--insecure-serving",
	}, more...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Log())
		}
		require.True(t, s.Terminate(soon))
	})
	return s
}

// waitReady returns once the controller has listed everything.
func (s *sized) waitReady(t *testing.T, timeout time.Duration) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := get("http://" + s.metrics + "/readyz")
		return err == nil
	}, timeout, time.Second/4)
	now := s.status(t)
	t.Logf("everything is listed after %s of CPU; memory of the process: %.1f MiB at most", now.cpu, mib(now.peak))
}

// quiet measures while nothing fails, and returns the share of a core and the renewals a second.
func (s *sized) quiet(t *testing.T, renewals *atomic.Int64, wait func(time.Duration)) (cpu, rate float64) {
	t.Helper()
	wait(settle)
	before, renewed, sent, began := s.status(t), renewals.Load(), requestsSent(t, s.metrics), time.Now()
	wait(quietFor)
	took := time.Since(began)
	cpu = (s.status(t).cpu - before.cpu).Seconds() / took.Seconds()
	rate = float64(renewals.Load()-renewed) / took.Seconds()
	t.Logf("while nothing fails, for %s: %.2f %% of a core with %.0f renewals a second, requests sent: %v",
		took.Round(time.Second), 100*cpu, rate, less(requestsSent(t, s.metrics), sent))
	used, inUse := heap(t, s.debug)
	t.Logf("heap after a collection: %.1f MiB of objects, %.1f MiB in use; memory of the process: %.1f MiB at most", mib(used), mib(inUse), mib(s.status(t).peak))
	return cpu, rate
}

// status is what Linux reports about a running process.
type status struct {
	cpu  time.Duration // used so far
	peak float64       // peak memory in bytes
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

func (c *Process) status(t *testing.T) (s status) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/", c.cmd.Process.Pid)
	stat, err := os.ReadFile(dir + "stat")
	require.NoError(t, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
	for _, ticks := range fields[12:14] { // utime and stime, the 14th and 15th field; the second is in parentheses
		n, err := strconv.ParseInt(ticks, 10, 64)
		require.NoError(t, err)
		s.cpu += time.Duration(n) * time.Second / 100
	}
	all, err := os.ReadFile(dir + "status")
	require.NoError(t, err)
	s.peak = 1024 * number(t, peakLine, string(all))
	return s
}

var (
	heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
	heapInuse = regexp.MustCompile(`(?m)^# HeapInuse = (\d+)$`)
)

// heap returns the bytes of objects, and of their spans, after a collection.
func heap(t *testing.T, debug string) (used, inUse float64) {
	t.Helper()
	profile, err := get("http://" + debug + "/debug/pprof/heap?gc=1&debug=1")
	require.NoError(t, err)
	return number(t, heapAlloc, profile), number(t, heapInuse, profile)
}

func number(t *testing.T, line *regexp.Regexp, text string) float64 {
	t.Helper()
	match := line.FindStringSubmatch(text)
	require.NotNil(t, match, line.String())
	n, err := strconv.ParseFloat(match[1], 64)
	require.NoError(t, err)
	return n
}

var sentLine = regexp.MustCompile(`(?m)^rest_client_requests_total\{code="([^"]+)".*method="([^"]+)"\} (\S+)$`)

// requestsSent returns the requests that the controller counted, by method and answer.
func requestsSent(t *testing.T, metrics string) map[string]int {
	t.Helper()
	text, err := get("http://" + metrics + "/metrics")
	require.NoError(t, err)
	sent := map[string]int{}
	for _, match := range sentLine.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(match[3], 64)
		require.NoError(t, err)
		sent[match[2]+" "+match[1]] += int(n)
	}
	return sent
}

func less(sent, before map[string]int) map[string]int {
	more := map[string]int{}
	for kind, n := range sent {
		if n > before[kind] {
			more[kind] = n - before[kind]
		}
	}
	return more
}

func get(url string) (string, error) {
	response, err := http.Get(url) //nolint:gosec,noctx // a local process, at an address that we chose
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	return string(body), err
}

// freeAddress returns an address that was free just now.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func mib(bytes float64) float64 { return bytes / (1 << 20) }
