package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
)

// budgetFile is the file of --budget. Its bounds are those of package budget, over the nodes of the cluster.
type budgetFile struct {
	// Exceeded says what becomes of pending evictions while a bound is exceeded: GoOn, which is also the default, or Wait.
	Exceeded string       `json:"exceeded"`
	Bounds   []boundEntry `json:"bounds"`
}

type boundEntry struct {
	Name   string              `json:"name"`
	Per    string              `json:"per"` // a label of nodes
	Of     string              `json:"of"`  // the name of a budget.Quantity
	Max    *intstr.IntOrString `json:"max"`
	Min    *intstr.IntOrString `json:"min"`
	Within metav1.Duration     `json:"within"`
	Quiet  metav1.Duration     `json:"quiet"`
}

// limits are the budget with its bounds; nil without --budget.
type limits struct {
	*budget.Budget[string, guard.Member]
	bounds    []budget.Bound
	waits     bool
	unmatched []string // as last told
}

// readBudget reads the file, for an evictor on that clock. It returns nil for an empty path; an error has all faults.
func readBudget(path string, on clock.PassiveClock) (*limits, error) {
	if path == "" {
		return nil, nil
	}
	l, err := parseBudget(path, on)
	if err != nil {
		return nil, fmt.Errorf("--%s=%s: %w", budgetFlag, path, err)
	}
	return l, nil
}

func parseBudget(path string, on clock.PassiveClock) (*limits, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file budgetFile
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, err
	}
	l := &limits{waits: file.Exceeded == "Wait"}
	config := budget.Config[string, guard.Member]{
		Dimensions: make(map[string]func(guard.Member) (string, bool)),
		Counts:     func(m guard.Member) bool { return !m.Excluded },
		Bad:        func(m guard.Member) bool { return !m.Ready },
		Clock:      on,
	}
	var errs []error
	for i, entry := range file.Bounds {
		bound, err := entry.bound()
		if err != nil {
			errs = append(errs, fmt.Errorf("bounds[%d].%w", i, err))
		}
		if entry.Per != "" {
			config.Dimensions[entry.Per] = func(m guard.Member) (string, bool) {
				group, has := m.Labels[entry.Per]
				return group, has
			}
		}
		l.bounds = append(l.bounds, bound)
	}
	if !slices.Contains([]string{"", "GoOn", "Wait"}, file.Exceeded) {
		errs = append(errs, fmt.Errorf("exceeded: %q must be GoOn or Wait", file.Exceeded))
	}
	if len(file.Bounds) == 0 {
		errs = append(errs, errors.New("bounds: there are none"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	config.Bounds = l.bounds
	l.Budget, err = budget.New(config)
	return l, err
}

// bound returns the bound; budget.New validates it.
func (b *boundEntry) bound() (bound budget.Bound, err error) {
	bound = budget.Bound{Name: b.Name, Per: b.Per, Within: b.Within.Duration, Quiet: b.Quiet.Duration}
	for q := budget.Bad; q <= budget.Recent; q++ {
		if q.String() == b.Of {
			bound.Of = q
		}
	}
	if bound.Of == 0 {
		err = fmt.Errorf("of: %q must be Bad, Unavailable, Healthy, Acting or Recent", b.Of)
	}
	for _, limit := range []struct {
		name string
		from *intstr.IntOrString
		to   *budget.Limit
	}{{"max", b.Max, &bound.Max}, {"min", b.Min, &bound.Min}} {
		switch {
		case limit.from == nil:
		case limit.from.Type == intstr.Int:
			*limit.to = budget.Count(int64(limit.from.IntVal))
		default:
			percent, parsed := strconv.ParseFloat(strings.TrimSuffix(limit.from.StrVal, "%"), 64)
			if parsed != nil || !strings.HasSuffix(limit.from.StrVal, "%") {
				err = errors.Join(err, fmt.Errorf("%s: %q must be a number, or a percentage such as 20%%", limit.name, limit.from.StrVal))
			}
			*limit.to = budget.Percent(percent).Up() // as in a PodDisruptionBudget
		}
	}
	return bound, err
}

// on puts the budget on the evictor's seams.
func (l *limits) on(config nodelifecycle.Config, o evictor.Options) (evictor.Options, error) {
	if l == nil {
		return o, nil
	}
	g, err := guard.New(l.Budget, config, guard.Options{Exceeded: func(*budget.Refusal) bool { return l.waits }})
	if err != nil {
		return o, err
	}
	return g.On(o), nil
}

// look warns of bounds that apply to no node, as if a label is misspelled.
func (l *limits) look(logger *slog.Logger) {
	if l == nil {
		return
	}
	if is := l.Unmatched(); !slices.Equal(is, l.unmatched) {
		if l.unmatched = is; len(is) > 0 {
			logger.Warn("bounds of --budget apply to no node: is a label misspelled?", "bounds", is)
		}
	}
}

// boundState is what /debug/evictor says of one bound in one group.
type boundState struct {
	Bound string `json:"bound"`
	Group string `json:"group,omitempty"`
	Used  int64  `json:"used"`
	Max   *int64 `json:"max,omitempty"`
	Min   *int64 `json:"min,omitempty"`
	Shut  bool   `json:"shut,omitempty"` // a breaker that refuses everything
}

// state returns the state of each bound in each group.
func (l *limits) state() (all []boundState) {
	if l == nil {
		return nil
	}
	for i := range l.bounds {
		groups := []string{""}
		if l.bounds[i].Per != "" {
			groups = l.Groups(l.bounds[i].Per)
		}
		for _, group := range groups {
			status, ok := l.Status(l.bounds[i].Name, group)
			if !ok {
				continue
			}
			one := boundState{Bound: l.bounds[i].Name, Group: group, Used: status.Used, Shut: status.Shut}
			if status.Max >= 0 {
				one.Max = &status.Max
			}
			if status.Min >= 0 {
				one.Min = &status.Min
			}
			all = append(all, one)
		}
	}
	return all
}

var (
	budgetUsed  = prometheus.NewDesc("evictkit_budget_used", "What a bound of the budget counts.", []string{"bound", "group"}, nil)
	budgetLimit = prometheus.NewDesc("evictkit_budget_limit", "The limits of a bound, max or min.", []string{"bound", "group", "limit"}, nil)
	budgetShut  = prometheus.NewDesc("evictkit_budget_shut", "1 while a breaker of the budget is shut: it refuses everything.", []string{"bound", "group"}, nil)
)

// Describe implements prometheus.Collector.
func (*limits) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{budgetUsed, budgetLimit, budgetShut} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (l *limits) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	for _, s := range l.state() {
		gauge(budgetUsed, s.Used, s.Bound, s.Group)
		shut := int64(0)
		if s.Shut {
			shut = 1
		}
		gauge(budgetShut, shut, s.Bound, s.Group)
		for name, limit := range map[string]*int64{"max": s.Max, "min": s.Min} {
			if limit != nil {
				gauge(budgetLimit, *limit, s.Bound, s.Group, name)
			}
		}
	}
}
