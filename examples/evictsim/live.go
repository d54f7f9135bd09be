package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/cgroup"
	"github.com/evictkit/evictkit/examples/evictsim/noderecord"
)

// playLive measures until --until or the end of the context, which is not an error. A record to - goes to stdout.
func playLive(ctx context.Context, f flags, s *nodeStory, stdout io.Writer) (err error) {
	var node noderecord.Node
	if err := f.pressure.settings(&node); err != nil {
		return err
	}
	l := &live{node: cgroup.Node{Dir: f.pressure.cgroup, Proc: f.pressure.proc, NodeFs: f.pressure.nodeFs, ImageFs: f.pressure.imageFs}, pods: map[string]*v1.Pod{}}
	root, err := l.node.Root()
	if err != nil {
		return fmt.Errorf("--cgroup: %w", err)
	}
	if node.Layout, err = l.node.Layout(); err != nil {
		return fmt.Errorf("--nodefs and --imagefs: %w", err)
	}
	if s.player, err = noderecord.NewPlayer(node); err != nil {
		return err
	}
	if f.pressure.to != "" {
		w, closer, openErr := open("record", under(f.pressure.to), stdout)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, closer()) }()
		if l.record, err = noderecord.NewWriter(w, node); err != nil {
			return err
		}
	}
	if s.layout = node.Layout.String(); f.pressure.nodeFs != "" {
		s.layout += fmt.Sprintf(" (nodefs %s, imagefs %s)", f.pressure.nodeFs, cmp.Or(f.pressure.imageFs, f.pressure.nodeFs))
	}
	if root {
		fmt.Fprintf(s.out, "%s has no memory.current: memory is that of the machine, from /proc/meminfo and, if there is one, memory.stat\n\n", f.pressure.cgroup)
	}
	ticker := time.NewTicker(f.pressure.interval)
	defer ticker.Stop()
	began := time.Now()
	for {
		sample, err := l.measure(time.Since(began))
		if err != nil {
			return err
		}
		s.watch(sample)
		fmt.Fprintln(s.out, signals(sample))
		s.tell(sample, s.player.Play(sample, l.pods))
		if f.until >= 0 && time.Since(began)+f.pressure.interval > f.until {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// live is a machine that is being measured.
type live struct {
	node   cgroup.Node
	pods   map[string]*v1.Pod
	record *noderecord.Writer // nil if none is written
}

// measure takes a sample and records it, after the new and changed pods. It forgets pods that are gone.
func (l *live) measure(at time.Duration) (*noderecord.Sample, error) {
	stats, err := l.node.Stats(context.Background())
	if err != nil {
		return nil, err
	}
	sample := &noderecord.Sample{T: at.Round(time.Millisecond).Seconds(), Signals: map[nodepressure.Signal]noderecord.Amount{}, Pods: map[string]*nodepressure.Usage{}}
	for signal, measured := range stats.Signals {
		sample.Signals[signal] = noderecord.Amount{Available: measured.Available, Capacity: measured.Capacity}
	}
	for _, pod := range stats.Pods {
		key := noderecord.Key(pod.Pod)
		sample.Pods[key] = pod.Usage
		if known := l.pods[key]; known != nil && reflect.DeepEqual(known.Spec, pod.Spec) {
			continue
		}
		l.pods[key] = pod.Pod
		if l.record != nil {
			if err := l.record.Pod(pod.Pod); err != nil {
				return nil, err
			}
		}
	}
	maps.DeleteFunc(l.pods, func(key string, _ *v1.Pod) bool { return sample.Pods[key] == nil })
	if l.record == nil {
		return sample, nil
	}
	return sample, l.record.Sample(sample)
}

// signals formats a sample as one line.
func signals(sample *noderecord.Sample) string {
	var parts []string
	for _, signal := range nodepressure.Signals() {
		amount, ok := sample.Signals[signal]
		if !ok {
			continue
		}
		text := func(n int64) string { return humanize.Comma(n) }
		if resource := signal.Resource(); resource == v1.ResourceMemory || resource == v1.ResourceEphemeralStorage {
			text = func(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
		}
		parts = append(parts, fmt.Sprintf("%s %s of %s", signal, text(amount.Available), text(amount.Capacity)))
	}
	return fmt.Sprintf("%12s  %s; %s", sample.At(), strings.Join(parts, ", "), some(len(sample.Pods), "pod"))
}
