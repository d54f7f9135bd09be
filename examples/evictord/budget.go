package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/examples/budgetfile"
)

// limits are the budget with its bounds; nil without --budget.
type limits struct {
	*budget.Budget[string, guard.Member]
	file      budgetfile.Budget
	unmatched []string // as last told
}

// readBudget reads the file, for an evictor on that clock. It returns nil for an empty path; an error has all faults.
func readBudget(path string, on clock.PassiveClock) (l *limits, err error) {
	if path == "" {
		return nil, nil
	}
	defer func() {
		if err != nil {
			l, err = nil, fmt.Errorf("--%s=%s: %w", budgetFlag, path, err)
		}
	}()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l = &limits{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err = decoder.Decode(&l.file); err == nil {
		l.Budget, err = l.file.New(on)
	}
	return l, err
}

// on puts the budget on the evictor's seams.
func (l *limits) on(config nodelifecycle.Config, o evictor.Options) (evictor.Options, error) {
	if l == nil {
		return o, nil
	}
	return l.file.On(l.Budget, config, o)
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
	for _, bound := range l.file.Bounds {
		groups := []string{""}
		if bound.Per != "" {
			groups = l.Groups(bound.Per)
		}
		for _, group := range groups {
			status, ok := l.Status(bound.Name, group)
			if !ok {
				continue
			}
			one := boundState{Bound: bound.Name, Group: group, Used: status.Used, Shut: status.Shut}
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
