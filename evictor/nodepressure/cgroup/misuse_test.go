package cgroup

import (
	"context"
	"testing"
	"time"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	notified := func(c NotifierConfig) func() error {
		return func() error { return misuse.Said(NewNotifier(Node{Dir: t.TempDir()}, c)) }
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"a zero Node, measured", func() error { return misuse.Said(Node{}.Stats(context.Background())) },
			"cgroup: Node.Dir is empty: it must be the node's cgroup directory, such as /sys/fs/cgroup"},
		{"a zero Node's pods", func() error { return misuse.Said(Node{}.Pods()) }, "cgroup: Node.Dir is empty"},
		{"a zero Node that is to notify", func() error { return misuse.Said(NewNotifier(Node{}, NotifierConfig{})) }, "cgroup: Node.Dir is empty"},
		{"a resource of no pressure, and impossible times", notified(NotifierConfig{Resource: "disk", Stall: -1, Window: time.Minute}),
			`cgroup: [resource: Unsupported value: "disk": supported values: `},
		{"a window that is too short", notified(NotifierConfig{Window: 499 * time.Millisecond}), `cgroup: window: Invalid value: "499ms": must be 500ms to 10s`},
		{"a negative window", notified(NotifierConfig{Window: -1}), `window: Invalid value: "-1ns": must be 500ms to 10s`},
		{"a stall longer than its window", notified(NotifierConfig{Stall: 3 * time.Second}),
			`cgroup: stall: Invalid value: "3s": must be at least 1µs and no longer than the window`},
		{"a stall in nanoseconds", notified(NotifierConfig{Stall: 999}), `cgroup: stall: Invalid value: "999ns"`},
		{"Run without a function", func() error { return new(Notifier).Run(context.Background(), nil) },
			"cgroup: Run needs a function to call, such as Manager.Notify, not nil"},
		{"a directory that is no cgroup", func() error { return misuse.Said(NewNotifier(Node{Dir: "/nowhere"}, NotifierConfig{})) },
			"cgroup: the kernel cannot notify of memory: "},
	})
}
