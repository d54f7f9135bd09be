package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/examples/evictsim/noderecord"
)

type pressureFlags struct {
	record        string
	live          string
	summary, pods string
	from          fromCluster
	layout        nodepressure.Layout
	to            string
	kubeletConfig string
	interval      time.Duration
}

func (f *pressureFlags) add(set *pflag.FlagSet) {
	f.from.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	set.StringVar(&f.record, "pressure", "", "play the record of a node in `FILE` through the kubelet's eviction machine. A record is JSON lines: "+
		`{"node":{}}, then {"pod":POD} and {"sample":{"t":SECONDS,"signals":{SIGNAL:{"available":N,"capacity":N}},"pods":{"NAMESPACE/NAME":{"memory":BYTES,"processes":N}}}}. `+
		"examples/evictsim/noderecord/doc.go defines the format")
	set.StringVar(&f.live, "pressure-live", "", "ask the kubelet of `NODE`, through the API server, what it measures, and report what it would do, until Ctrl-C or --until")
	set.StringVar(&f.from.rules.ExplicitPath, "kubeconfig", "", "with --pressure-live: `FILE` that says how to reach the cluster (default $KUBECONFIG, or ~/.kube/config, or the pod's own)")
	set.StringVar(&f.from.overrides.CurrentContext, "context", "", "with --pressure-live: the `NAME` of the context in the kubeconfig")
	set.StringVar(&f.summary, "summary", "", "with --pressure-live: read the Summary from `FILE` instead, again at each interval, as kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary prints it")
	set.StringVar(&f.pods, "pods", "", "with --summary: read the pods from `FILE`, as kubectl get pods -A -o json prints them")
	set.TextVar(&f.layout, "layout", nodepressure.SingleFs, "with --pressure-live: the node's file systems, SingleFs, DedicatedImageFs or SplitImageFs; a Summary does not say which it has")
	set.StringVar(&f.to, "record", "", "with --pressure-live: write a record for --pressure to `FILE`, - for stdout (the text report then goes to stderr)")
	set.DurationVar(&f.interval, "interval", 10*time.Second, "with --pressure-live: the time between measurements")
	set.StringVar(&f.kubeletConfig, "kubelet-config", "", "with --pressure or --pressure-live: take the thresholds from this kubelet configuration `FILE`; by default from the record, or the kubelet's defaults")
}

// check says whether to play a node, and finds flags that exclude each other.
func (f *pressureFlags) check(set *pflag.FlagSet) (on bool, err error) {
	on = f.live != "" || set.Changed("pressure")
	switch {
	case set.Changed("pressure-live") && f.live == "":
		return on, errors.New("--pressure-live needs the name of a node")
	case f.live != "" && set.Changed("pressure"):
		return on, errors.New("--pressure and --pressure-live cannot both be set")
	case on && set.Changed("scenario"):
		return on, errors.New("--scenario is for a cluster, --pressure for a node")
	case on && set.Changed("output"):
		return on, errors.New("--output is for a cluster: what a node does is text, and --timeline writes it as JSON lines")
	case on && set.Changed("report"):
		return on, errors.New("--report is for a cluster: a node has no page")
	case !on && set.Changed("kubelet-config"):
		return on, errors.New("--kubelet-config needs --pressure or --pressure-live")
	case set.Changed("summary") != set.Changed("pods"):
		return on, errors.New("--summary and --pods need each other: what pods use and what they may is in two files")
	case f.to == "-" && set.Lookup("timeline").Value.String() == "-":
		return on, errors.New("--timeline and --record cannot both go to stdout")
	case f.interval <= 0:
		return on, fmt.Errorf("--interval %s is not positive", f.interval)
	}
	for _, name := range []string{"summary", "pods", "kubeconfig", "context", "layout", "record", "interval"} {
		if f.live == "" && set.Changed(name) {
			return on, fmt.Errorf("--%s needs --pressure-live", name)
		}
	}
	return on, nil
}

// pressure plays a node.
func pressure(ctx context.Context, f flags, stdout, stderr io.Writer) (err error) {
	s := &nodeStory{out: stdout, counts: map[string]int{}}
	if f.timeline == "-" || f.pressure.to == "-" {
		s.out = stderr
	}
	if f.quiet {
		s.out = io.Discard
	}
	if f.timeline != "" {
		w, closer, openErr := open("timeline", under(f.timeline), stdout)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, closer()) }()
		s.timeline = json.NewEncoder(w)
	}
	if f.pressure.live != "" {
		err = playLive(ctx, f, s, stdout)
	} else {
		err = playRecord(ctx, f, s)
	}
	if err == nil {
		s.end()
	}
	return errors.Join(err, s.failed)
}

func playRecord(ctx context.Context, f flags, s *nodeStory) error {
	file, err := os.Open(under(f.pressure.record))
	if err != nil {
		return err
	}
	defer file.Close()
	reader, err := noderecord.NewReader(f.pressure.record, file)
	if err != nil {
		return err
	}
	node := reader.Node()
	if err := f.pressure.settings(&node); err != nil {
		return err
	}
	if s.player, err = noderecord.NewPlayer(node); err != nil {
		return err
	}
	s.layout = node.Layout.String()
	for ctx.Err() == nil {
		sample, err := reader.Sample()
		if errors.Is(err, io.EOF) || err == nil && f.until >= 0 && sample.At() > f.until {
			return nil
		}
		if err != nil {
			return err
		}
		s.watch(sample)
		s.tell(sample, s.player.Play(sample, reader.Pods()))
	}
	return ctx.Err()
}

// settings gives the node the settings of the kubelet configuration file, if there is one.
func (f *pressureFlags) settings(node *noderecord.Node) error {
	if f.kubeletConfig == "" {
		return nil
	}
	data, err := os.ReadFile(under(f.kubeletConfig))
	if err != nil {
		return err
	}
	if node.Settings, err = nodepressure.ParseSettings(data); err != nil {
		return fmt.Errorf("%s: %w", f.kubeletConfig, err)
	}
	if _, err := node.Config(); err != nil {
		return fmt.Errorf("%s: %w", f.kubeletConfig, err)
	}
	return nil
}

// nodeStory prints what becomes of a node.
type nodeStory struct {
	out      io.Writer
	timeline *json.Encoder // nil if none is written
	player   *noderecord.Player
	layout   string
	measured map[nodepressure.Signal]bool // nil before the first sample
	counts   map[string]int               // events by kind
	samples  int
	last     time.Duration
	failed   error
}

// watch prints which thresholds are watched, and which are not because nothing measures their signal: at the first sample
// all, later only changes.
func (s *nodeStory) watch(sample *noderecord.Sample) {
	first := s.measured == nil
	if first {
		s.measured = map[nodepressure.Signal]bool{}
		fmt.Fprintf(s.out, "%s, thresholds:\n", s.layout)
	}
	var not []nodepressure.Threshold
	for _, threshold := range s.player.Thresholds() {
		_, measured := sample.Signals[threshold.Signal]
		switch {
		case first && measured:
			fmt.Fprintf(s.out, "  %s%s\n", threshold, tooMuch(threshold, sample))
		case first:
			not = append(not, threshold)
		case measured && !s.measured[threshold.Signal]:
			fmt.Fprintf(s.out, "%12s  %s is measured from now on\n", sample.At(), threshold.Signal)
		case !measured && s.measured[threshold.Signal]:
			fmt.Fprintf(s.out, "%12s  %s is no longer measured\n", sample.At(), threshold.Signal)
		}
		s.measured[threshold.Signal] = measured
	}
	if len(not) > 0 {
		fmt.Fprintln(s.out, "not watched, because nothing measures them:")
	}
	for _, threshold := range not {
		fmt.Fprintf(s.out, "  %s\n", threshold)
	}
	if first {
		fmt.Fprintln(s.out)
	}
}

// tooMuch is a warning about a threshold that more than the capacity would have to exceed.
func tooMuch(threshold nodepressure.Threshold, sample *noderecord.Sample) string {
	capacity := sample.Signals[threshold.Signal].Capacity
	if value := threshold.Value.At(capacity); capacity <= 0 || value.CmpInt64(capacity) < 0 {
		return ""
	}
	return fmt.Sprintf(" (warning: the capacity is %d, so this evicts every pod, one after the other)", capacity)
}

func (s *nodeStory) tell(sample *noderecord.Sample, events []noderecord.Event) {
	s.samples++
	s.last = sample.At()
	for _, event := range events {
		if event.Kind != noderecord.KindCondition || event.True {
			s.counts[event.Kind]++
		}
		fmt.Fprintln(s.out, event)
		if s.timeline != nil && s.failed == nil {
			s.failed = s.timeline.Encode(event)
		}
	}
}

func (s *nodeStory) end() {
	fmt.Fprintf(s.out, "\n%s over %s: %s evicted, a condition began %s\n",
		some(s.samples, "sample"), s.last.Round(time.Millisecond), some(s.counts[noderecord.KindEvict], "pod"), some(s.counts[noderecord.KindCondition], "time"))
}

// open opens a file that is written bit by bit, or stdout for "-".
func open(what, path string, stdout io.Writer) (w io.Writer, closer func() error, err error) {
	if path == "-" {
		return stdout, func() error { return nil }, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	return file, file.Close, nil
}
