package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/summary"
	"github.com/evictkit/evictkit/examples/evictsim/noderecord"
)

// source returns a kubelet's Summary and the pods that the API has for its node.
type source func(context.Context) (body []byte, pods []v1.Pod, err error)

// ofKubelet asks the API server, which asks the kubelet.
func ofKubelet(client kubernetes.Interface, node string) source {
	return func(ctx context.Context) ([]byte, []v1.Pod, error) {
		body, err := client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("the Summary of node %s (it needs permission to get nodes/proxy): %w", node, err)
		}
		list, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()})
		if err != nil {
			return nil, nil, fmt.Errorf("the pods of node %s: %w", node, err)
		}
		return body, list.Items, nil
	}
}

// ofFiles reads both from files, as kubectl prints them. Something else may write them anew from time to time.
func ofFiles(summaryFile, podsFile string) source {
	return func(context.Context) ([]byte, []v1.Pod, error) {
		body, err := os.ReadFile(summaryFile)
		if err != nil {
			return nil, nil, err
		}
		text, err := os.ReadFile(podsFile)
		if err != nil {
			return nil, nil, err
		}
		var list v1.PodList
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, nil, fmt.Errorf("%s: want a list of pods, as kubectl get pods -o json prints: %w", podsFile, err)
		}
		return body, list.Items, nil
	}
}

// playLive reads until --until or the end of the context, which is not an error. A record to - goes to stdout.
func playLive(ctx context.Context, f flags, s *nodeStory, stdout io.Writer) (err error) {
	node := noderecord.Node{Layout: f.pressure.layout}
	if err := f.pressure.settings(&node); err != nil {
		return err
	}
	if s.player, err = noderecord.NewPlayer(node); err != nil {
		return err
	}
	l := &live{node: f.pressure.live, story: s, pods: map[string]*v1.Pod{}, told: map[string]string{}}
	if l.source, err = f.pressure.source(); err != nil {
		return err
	}
	if err := l.measure(ctx, 0); err != nil {
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
	s.layout = node.Layout.String()
	return l.follow(ctx, f.pressure.interval, f.until)
}

// live is a node whose kubelet measures it.
type live struct {
	node   string
	source source
	story  *nodeStory
	record *noderecord.Writer // nil if none is written
	zero   time.Time          // the instant 0 of the record, by the node's clock
	sample *noderecord.Sample
	pods   map[string]*v1.Pod // as recorded
	newly  []*v1.Pod          // of them those that are not written yet
	told   map[string]string  // what was said of pods that are no candidates
}

// follow plays the sample that was taken, and then one each interval.
func (l *live) follow(ctx context.Context, interval, until time.Duration) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	began := time.Now()
	for missed := false; ; {
		if !missed {
			if err := l.play(); err != nil {
				return err
			}
		}
		if until >= 0 && time.Since(began)+interval > until {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		// What an API server cannot answer now it answers later.
		failed := l.measure(ctx, time.Since(began))
		if missed = failed != nil; missed && ctx.Err() == nil {
			fmt.Fprintf(l.story.out, "%12s  no sample: %v\n", time.Since(began).Round(time.Millisecond), failed)
		}
	}
}

// measure takes a sample.
func (l *live) measure(ctx context.Context, at time.Duration) error {
	body, list, err := l.source(ctx)
	if err != nil {
		return err
	}
	var pods []*v1.Pod
	for i := range list {
		if list[i].Spec.NodeName == l.node {
			pods = append(pods, &list[i])
		}
	}
	joined, err := summary.Join(body, pods)
	switch {
	case err != nil:
		return err
	case joined.Node != l.node:
		return fmt.Errorf("summary: it is that of node %q, not of %s", joined.Node, l.node)
	}
	l.take(joined, at)
	l.tell(joined)
	return nil
}

// take keeps what is recorded of a sample. The times in it are those of the node's clock.
func (l *live) take(joined summary.Joined, at time.Duration) {
	if l.zero.IsZero() {
		for _, measured := range joined.Signals {
			if measured.Time.After(l.zero) {
				l.zero = measured.Time
			}
		}
	}
	l.sample = &noderecord.Sample{T: at.Round(time.Millisecond).Seconds(), Signals: map[nodepressure.Signal]noderecord.Amount{}, Pods: map[string]*nodepressure.Usage{}}
	for signal, measured := range joined.Signals {
		amount := noderecord.Amount{Available: measured.Available, Capacity: measured.Capacity}
		if !measured.Time.IsZero() {
			seconds := measured.Time.Sub(l.zero).Seconds()
			amount.At = &seconds
		}
		l.sample.Signals[signal] = amount
	}
	known := l.pods
	l.pods = map[string]*v1.Pod{}
	for _, pod := range joined.Pods {
		key, recorded := noderecord.Key(pod.Pod), noderecord.Trim(pod.Pod)
		l.sample.Pods[key] = pod.Usage
		if l.pods[key] = known[key]; !reflect.DeepEqual(known[key], recorded) {
			l.pods[key] = recorded
			l.newly = append(l.newly, recorded)
		}
	}
}

// tell says once which pods are no candidates, and why.
func (l *live) tell(joined summary.Joined) {
	now := map[string]string{}
	for _, ref := range joined.Unknown {
		now[ref.Namespace+"/"+ref.Name] = "is measured, but the API does not have it: it is not evicted"
	}
	for _, pod := range joined.Unmeasured {
		now[noderecord.Key(pod)] = "has no sample: it is not evicted"
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if l.told[key] != now[key] {
			fmt.Fprintf(l.story.out, "%12s  pod %s %s\n", l.sample.At(), key, now[key])
		}
	}
	l.told = now
}

// play records the sample, after the pods that are new or have changed, and plays it.
func (l *live) play() error {
	if l.record != nil {
		for _, pod := range l.newly {
			if err := l.record.Pod(pod); err != nil {
				return err
			}
		}
		if err := l.record.Sample(l.sample); err != nil {
			return err
		}
	}
	l.newly = nil
	l.story.watch(l.sample)
	fmt.Fprintln(l.story.out, signals(l.sample))
	l.story.tell(l.sample, l.story.player.Play(l.sample, l.pods))
	return nil
}

// source returns where the Summary and the pods come from.
func (f *pressureFlags) source() (source, error) {
	if f.summary != "" {
		return ofFiles(under(f.summary), under(f.pods)), nil
	}
	client, err := f.from.client()
	if err != nil {
		return nil, err
	}
	return ofKubelet(client, f.live), nil
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
