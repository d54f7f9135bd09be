package cgroup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NotifierConfig says when the kernel is to notify. The zero NotifierConfig watches memory, with the values that
// systemd uses for services.
type NotifierConfig struct {
	// Resource is what tasks wait for: "memory" (also if empty), "io" or "cpu".
	Resource string
	// The kernel notifies when some task has waited for Stall within Window, and at most once per Window. Zero means
	// 200ms and 2s. A Window is between 500ms and 10s. Without the capability CAP_SYS_RESOURCE it must be a multiple of
	// 2s, and the kernel checks only every 2s.
	Stall, Window time.Duration
}

// The kernel sets the bounds of a window.
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

// Notifier calls a function when the kernel signals that tasks of a node wait. It opens nothing before Run.
type Notifier struct {
	source source
	window time.Duration
}

// source is a file through which the kernel notifies.
type source struct {
	path string
	// trigger is what to write into a file of pressure-stall information; empty if inotify watches the file.
	trigger string
}

// NewNotifier finds out what the machine offers, and tries it. Its first choice is a pressure-stall trigger on the
// node's cgroup, or on the machine if the node is the whole machine (see Node.Root). The second choice, for memory
// only, is a change of memory.events, which counts how often the cgroup exceeded its limits. If neither works, the
// error says why; then a Manager looks only every MonitoringPeriod.
func NewNotifier(node Node, config NotifierConfig) (*Notifier, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	if node.Dir == "" {
		return nil, errNoDir
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

// sources returns the files to try, the best first.
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

// String says what the Notifier watches.
func (n *Notifier) String() string {
	if n.source.trigger == "" {
		return "inotify on " + n.source.path
	}
	return fmt.Sprintf("pressure-stall trigger on %s: %s", n.source.path, n.source.trigger)
}

// Run calls wake at each notification, at most about once per Window, until the context ends; then it returns the
// context's cause. It returns an error before that if the kernel stops notifying, for example because the cgroup is
// removed, and at once if wake is nil. Run calls wake in its own goroutine, and wake must return soon, as
// Manager.Notify does. Several Runs may be active at once.
func (n *Notifier) Run(ctx context.Context, wake func()) error {
	switch {
	case wake == nil:
		return errors.New("cgroup: Run needs a function to call, such as Manager.Notify, not nil")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	err := n.run(ctx, wake)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("cgroup: %s: %w", n.source.path, err)
}

var errGone = errors.New("is gone")
