package alerts

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v2"
)

// ruleTests is promtool's test file, as far as it is used here.
type ruleTests struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []ruleTest     `yaml:"tests"`
}

type ruleTest struct {
	Name        string         `yaml:"name"`
	Interval    model.Duration `yaml:"interval"`
	InputSeries []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	AlertRuleTest []struct {
		EvalTime  model.Duration `yaml:"eval_time"`
		Alertname string         `yaml:"alertname"`
		ExpAlerts []struct {
			ExpLabels      map[string]string `yaml:"exp_labels"`
			ExpAnnotations map[string]string `yaml:"exp_annotations"`
		} `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

// load loads the rules as Prometheus does.
func load(t *testing.T, every time.Duration, query rules.QueryFunc, to storage.Appendable) map[string]*rules.Group {
	t.Helper()
	groups, errs := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: query, Appendable: to, Context: t.Context(), NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger: promslog.NewNopLogger(), Parser: parser.NewParser(parser.Options{}),
	}).LoadGroups(every, labels.EmptyLabels(), "", nil, false, ruleFile(t))
	require.Empty(t, errs)
	return groups
}

// fires evaluates the rules at an instant and returns the alerts that fire.
func fires(t *testing.T, groups map[string]*rules.Group, now time.Time) (alerts []*rules.Alert) {
	t.Helper()
	for _, group := range groups {
		group.Eval(t.Context(), now)
		for _, rule := range group.AlertingRules() {
			require.NoError(t, rule.LastError(), rule.Name())
			for _, alert := range rule.ActiveAlerts() {
				if alert.State == rules.StateFiring {
					alerts = append(alerts, alert)
				}
			}
		}
	}
	return alerts
}

// TestRules runs promtool's tests as promtool does.
func TestRules(t *testing.T) {
	text, err := os.ReadFile("testdata/alerts.yaml")
	require.NoError(t, err)
	var all ruleTests
	require.NoError(t, yaml.UnmarshalStrict(text, &all))
	fired, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range all.Tests {
		t.Run(test.Name, func(t *testing.T) {
			for _, row := range test.AlertRuleTest {
				(map[bool]map[string]bool{true: fired, false: quiet}[len(row.ExpAlerts) > 0])[row.Alertname] = true
			}
			test.run(t, time.Duration(all.EvaluationInterval))
		})
	}
	for _, alert := range alertsOf(t) {
		require.True(t, fired[alert.Alert], "no test lets %s fire", alert.Alert)
		require.True(t, quiet[alert.Alert], "no test keeps %s quiet", alert.Alert)
		delete(fired, alert.Alert)
		delete(quiet, alert.Alert)
	}
	require.Empty(t, fired)
	require.Empty(t, quiet)
}

func (test *ruleTest) run(t *testing.T, every time.Duration) {
	var series strings.Builder
	fmt.Fprintf(&series, "load %s\n", test.Interval)
	for _, one := range test.InputSeries {
		fmt.Fprintf(&series, "  %s %s\n", one.Series, one.Values)
	}
	suite, err := promqltest.NewLazyLoader(series.String(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, suite.Close()) })
	suite.SubqueryInterval = every
	groups := load(t, every, rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()), suite.Storage())
	at := map[time.Duration][]*rules.Alert{}
	last := time.Duration(0)
	for _, row := range test.AlertRuleTest {
		last = max(last, time.Duration(row.EvalTime))
	}
	for now := time.Duration(0); now <= last; now += every {
		suite.WithSamplesTill(time.Unix(0, 0).Add(now), func(err error) {
			require.NoError(t, err)
			at[now] = fires(t, groups, time.Unix(0, 0).Add(now))
		})
	}
	for _, row := range test.AlertRuleTest {
		require.Zero(t, time.Duration(row.EvalTime)%every, "alerts are evaluated every %s", every)
		type told struct{ labels, annotations map[string]string }
		want, got := []told{}, []told{}
		for _, expected := range row.ExpAlerts {
			expected.ExpLabels[labels.AlertName] = row.Alertname
			want = append(want, told{expected.ExpLabels, expected.ExpAnnotations})
		}
		for _, alert := range at[time.Duration(row.EvalTime)] {
			if alert.Labels.Get(labels.AlertName) == row.Alertname {
				got = append(got, told{alert.Labels.Map(), alert.Annotations.Map()})
			}
		}
		require.ElementsMatch(t, want, got, "%s at %s", row.Alertname, row.EvalTime)
	}
}
