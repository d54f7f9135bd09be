package cgroup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NotifierConfig says of what the kernel is to notify. The zero NotifierConfig is of memory, as systemd has it for its
// services.
type NotifierConfig struct {
	// Resource is what tasks wait for: "memory", also when it is empty, "io" or "cpu".
	Resource string
	// The kernel notifies when some task has waited for Stall within Window, and at most once a Window. Zero means 200ms
	// and 2s. A Window is 500ms to 10s; without the capability CAP_SYS_RESOURCE it must be a multiple of 2s, and the
	// kernel looks only every 2s.
	Stall, Window time.Duration
}

// The bounds of a window are the kernel's.
const (
	defaultStall, defaultWindow = 200 * time.Millisecond, 2 * time.Second
	leastWindow, mostWindow     = 500 * time.Millisecond, 10 * time.Second
)

// Validate reports every fault at once.
func (c NotifierConfig) Validate() error {
	var errs field.ErrorList
	c = c.defaulted()
	if c.Resource != "memory" && c.Resource != "io" && c.Resource != "cpu" {
		errs = append(errs, field.NotSupported(field.NewPath("resource"), c.Resource, []string{"memory", "io", "cpu"}))
	}
	if c.Window < leastWindow || c.Window > mostWindow {
		errs = append(errs, field.Invalid(field.NewPath("window"), c.Window.String(), "must be 500ms to 10s"))
	}
	if c.Stall < time.Microsecond || c.Stall > c.Window {
		errs = append(errs, field.Invalid(field.NewPath("stall"), c.Stall.String(), "must be at least 1µs and no longer than the window"))
	}
	return errs.ToAggregate()
}

func (c NotifierConfig) defaulted() NotifierConfig {
	if c.Resource == "" {
		c.Resource = "memory"
	}
	if c.Stall == 0 {
		c.Stall = defaultStall
	}
	if c.Window == 0 {
		c.Window = defaultWindow
	}
	return c
}

// Notifier wakes whoever must look at a node when the kernel says that its tasks wait. It has opened nothing until Run.
type Notifier struct {
	source source
	window time.Duration
}

// source is a file that the kernel notifies by.
type source struct {
	path string
	// trigger is what to write into a file of pressure-stall information; empty for a file that inotify watches.
	trigger string
}

// NewNotifier finds out what the machine offers, and tries it: a pressure-stall trigger on the node's cgroup, or on the
// machine where the node is that (see Node.Root); else, for memory, changes of memory.events, which counts how often the
// cgroup went over its limits. The error says of each why it cannot be had: then a Manager is left with its MonitoringPeriod.
func NewNotifier(node Node, config NotifierConfig) (*Notifier, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	config = config.defaulted()
	var errs []error
	for _, s := range node.sources(config) {
		err := s.try()
		if err == nil {
			return &Notifier{source: s, window: config.Window}, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", s.path, err))
	}
	return nil, fmt.Errorf("cgroup: the kernel cannot notify of %s: %w", config.Resource, errors.Join(errs...))
}

// sources are what may be there, the best first.
func (n Node) sources(c NotifierConfig) []source {
	trigger := fmt.Sprintf("some %d %d", c.Stall.Microseconds(), c.Window.Microseconds())
	found := []source{{filepath.Join(n.Dir, c.Resource+".pressure"), trigger}}
	if root, err := n.Root(); err == nil && root {
		found = append(found, source{n.proc("pressure/" + c.Resource), trigger})
	}
	if c.Resource == "memory" {
		found = append(found, source{path: filepath.Join(n.Dir, "memory.events")})
	}
	return found
}

// String says what is watched.
func (n *Notifier) String() string {
	if n.source.trigger == "" {
		return "inotify on " + n.source.path
	}
	return fmt.Sprintf("pressure-stall trigger on %s: %s", n.source.path, n.source.trigger)
}

// Run calls wake at each notification, at most about once a Window, until the context ends; it returns its cause. It
// returns an error before that when the kernel notifies no more, as when the cgroup is removed. Wake is called from Run
// and is to return soon, as Manager.Notify does. Several Runs do not disturb each other.
func (n *Notifier) Run(ctx context.Context, wake func()) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := n.run(ctx, wake)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("cgroup: %s: %w", n.source.path, err)
}

var errGone = errors.New("is gone")
