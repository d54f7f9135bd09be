package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain is also the controller itself, for tests that need it as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("EVICTKIT_TEST_CONTROLLER") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// BenchmarkLargeClusterAtRest measures the process of the controller beside 5,000 nodes with 50,000 pods, while nothing
// fails: CPU in the time of the benchmark after the start, heap after a collection, and the peak of resident memory.
func BenchmarkLargeClusterAtRest(b *testing.B) {
	for name, watchLists := range map[string]bool{"pages": false, "watch-list": true} {
		b.Run(name, func(b *testing.B) {
			s := newAPIServer()
			s.nodes, s.pods, s.watchLists = 5000, 50000, watchLists
			s.Start()
			b.Cleanup(s.Close)
			metrics := begin(b, s.URL)
			pid := metrics.pid
			require.Eventually(b, func() bool { return metrics.get("/readyz") == "ok\n" }, 5*time.Minute, 100*time.Millisecond)
			peak := residentPeak(b, pid)
			const period = 30 * time.Second
			before, began := cpu(b, pid), time.Now()
			for range b.N {
				timer := time.NewTimer(period)
				<-timer.C
			}
			used := cpu(b, pid) - before
			b.ReportMetric(100*used.Seconds()/time.Since(began).Seconds(), "%core")
			b.ReportMetric(peak, "MiB-peak-at-start")
			b.ReportMetric(metrics.heapInUse(b), "MiB-heap")
			b.ReportMetric(residentPeak(b, pid), "MiB-peak")
		})
	}
}

var serving = regexp.MustCompile(`msg=serving address=(\S+)`)

type process struct {
	pid            int
	address, debug string
}

// begin starts the controller and returns when it serves.
func begin(t testing.TB, server string) process {
	t.Helper()
	command := exec.Command(os.Args[0], "--kubeconfig", kubeconfig(t, server), "--leader-elect=false", "--metrics-address=127.0.0.1:0", "--debug-address=127.0.0.1:0")
	command.Env = append(os.Environ(), "EVICTKIT_TEST_CONTROLLER=1")
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	addresses := make(chan string, 2)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if found := serving.FindStringSubmatch(lines.Text()); found != nil {
				addresses <- found[1]
			} else if !strings.Contains(lines.Text(), "level=INFO") {
				t.Log(lines.Text())
			}
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, command.Process.Signal(os.Interrupt))
		require.NoError(t, command.Wait())
	})
	p := process{pid: command.Process.Pid}
	for _, to := range []*string{&p.address, &p.debug} {
		select {
		case *to = <-addresses:
		case <-time.After(time.Minute):
			require.Fail(t, "it does not serve")
		}
	}
	return p
}

func fetch(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return string(body)
}

func (p process) get(path string) string { return fetch("http://" + p.address + path) }

// heapInUse is in MiB, after a collection.
func (p process) heapInUse(t testing.TB) float64 {
	t.Helper()
	text := fetch("http://" + p.debug + "/debug/pprof/heap?gc=1&debug=1")
	found := regexp.MustCompile(`# HeapInuse = (\d+)`).FindStringSubmatch(text)
	require.NotNil(t, found)
	bytes, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return bytes / (1 << 20)
}

// residentPeak is in MiB.
func residentPeak(t testing.TB, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, found)
	kilobytes, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(t, err)
	return kilobytes / 1024
}

// cpu is what the process has used, in clock ticks of 10 ms.
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
	user, err := strconv.Atoi(fields[12])
	require.NoError(t, err)
	system, err := strconv.Atoi(fields[13])
	require.NoError(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}
