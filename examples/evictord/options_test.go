package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
)

// TestFlagsAreUpstreams: flags about nodes have the names and defaults of kube-controller-manager 1.36.
func TestFlagsAreUpstreams(t *testing.T) {
	defaults, err := parse(nil, io.Discard)
	require.NoError(t, err)
	named, err := parse([]string{
		"--kube-api-qps=20", "--kube-api-burst=30", "--leader-elect=true", "--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s",
		"--leader-elect-retry-period=2s", "--leader-elect-resource-lock=leases", "--leader-elect-resource-namespace=kube-system",
		"--node-monitor-period=5s", "--node-monitor-grace-period=50s", "--node-startup-grace-period=60s", "--node-eviction-rate=0.1",
		"--secondary-node-eviction-rate=0.01", "--large-cluster-size-threshold=50", "--unhealthy-zone-threshold=0.55",
		"--enable-taint-manager=true", "--pod-eviction-timeout=5m", // up to 1.26
	}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, defaults, named)
	require.Equal(t, evictor.DefaultConfig(), defaults.evictor)
	require.NotEqual(t, "kube-controller-manager", defaults.leader.resourceName, "its lease is its own")
	require.Equal(t, "127.0.0.1:10269", defaults.debugAddress, "what is pending is told to nobody else")
}

func TestFlagsArrive(t *testing.T) {
	o, err := parse([]string{"--node-monitor-period=0", "--node-eviction-rate=3", "--announced-maintenance=2h", "--use-eviction-api", "--dry-run"}, io.Discard)
	require.NoError(t, err)
	want := evictor.DefaultConfig()
	want.Nodes.NodeMonitorPeriod, want.Nodes.NodeEvictionRate = 0, 3
	require.Equal(t, want, o.evictor)
	require.Equal(t, 2*time.Hour, o.announced)
	require.True(t, o.evictionAPI)
	require.True(t, o.dryRun)
	require.Equal(t, 15*time.Second, o.leader.leaseDuration)
}

// TestFlagsThatHinderEachOtherAreWarnedOf: a warning names both.
func TestFlagsThatHinderEachOtherAreWarnedOf(t *testing.T) {
	for args, want := range map[string][]string{
		"--kube-api-qps=20":                                    nil,
		"--kube-api-qps=5":                                     {"--kube-api-qps=5 is too low: --node-eviction-rate=0.1 may evict 11 pods a second in each zone (110 a node), which will be late"},
		"--node-eviction-rate=2":                               {"--kube-api-qps=20 is too low: --node-eviction-rate=2 may evict 220 pods a second in each zone (110 a node), which will be late"},
		"--node-eviction-rate=0":                               nil,
		"--kube-api-qps=1000.125":                              nil,
		"--node-monitor-grace-period=10s":                      {"--node-monitor-grace-period=10s is too short: kubelets renew their leases every 10s unless nodeLeaseDurationSeconds says otherwise, so nodes that are well become Unknown between two renewals"},
		"--node-monitor-grace-period=20s":                      nil,
		"--node-monitor-grace-period=6s --half=taint-eviction": nil,
		"--pod-eviction-timeout=1m":                            {"--pod-eviction-timeout=1m0s has no effect with --enable-taint-manager: pods leave as their tolerations end"},
	} {
		o, err := parse(strings.Fields(args), io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, o.warnings(), args)
	}
}

// TestAFlagThatIsGoneSaysSo, and what to use in its place.
func TestAFlagThatIsGoneSaysSo(t *testing.T) {
	for flag, instead := range map[string]string{"max-failed-nodes": "--max-nodes-per-second", "max-marked-nodes": "--brakes", "mark-all-after": "not Ready"} {
		_, err := parse([]string{"--" + flag + "=7"}, io.Discard)
		require.ErrorContains(t, err, "is gone: ")
		require.ErrorContains(t, err, instead)
	}
	_, err := parse([]string{"--announced-maintenance=-1s"}, io.Discard)
	require.EqualError(t, err, "--announced-maintenance=-1s: must not be negative; 0 ignores announcements")
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	_, err := parse([]string{"--help"}, &out)
	require.ErrorIs(t, err, pflag.ErrHelp)
	require.Contains(t, out.String(), "--node-monitor-grace-period")
}

// TestALeaseCountsInWholeSeconds: other replicas read 10 for 10.9, and would lead while this one still tries to renew.
func TestALeaseCountsInWholeSeconds(t *testing.T) {
	_, err := parse([]string{"--leader-elect-lease-duration=10.9s", "--leader-elect-renew-deadline=10.5s"}, io.Discard)
	require.EqualError(t, err, "--leader-elect-lease-duration=10.9s: must be at least --leader-elect-renew-deadline and the 4s in which a leader finishes its last writes, in whole seconds")
	_, err = parse([]string{"--leader-elect-lease-duration=10.9s", "--leader-elect-renew-deadline=6.5s"}, io.Discard)
	require.Error(t, err)
	_, err = parse([]string{"--leader-elect-lease-duration=10.9s", "--leader-elect-renew-deadline=6s"}, io.Discard)
	require.NoError(t, err)
}
