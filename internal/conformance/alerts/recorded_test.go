package alerts

import (
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/util/teststorage"
	"github.com/stretchr/testify/require"
)

const (
	job      = "evictkit-controller"
	instance = "10.0.0.2:10268"
	scraped  = 30 * time.Second // as the PodMonitor says
)

// recorded is a recording of a run of the controller, scraped by Prometheus.
type recorded struct {
	storage *teststorage.TestStorage
	engine  *promql.Engine
	end     time.Time                      // of the run, which begins at 0
	names   map[string]map[string]struct{} // the labels of each metric
}

// recordedRun makes the controller's own tests record what it serves, so that no names or values are repeated here.
func recordedRun(t *testing.T) *recorded {
	t.Helper()
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-run=^TestARecordedRun$", "./evictord", "-record="+dir)
	command.Dir = filepath.Dir(controller)
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var times []int
	for _, file := range files {
		seconds, err := strconv.Atoi(file.Name())
		require.NoError(t, err)
		times = append(times, seconds)
	}
	slices.Sort(times)
	r := &recorded{storage: teststorage.New(t), engine: promqltest.NewTestEngine(t, false, 0, 10_000_000), names: map[string]map[string]struct{}{}}
	for _, seconds := range times {
		text, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(seconds)))
		require.NoError(t, err)
		r.end = time.Unix(int64(seconds), 0)
		r.scrape(t, text)
	}
	return r
}

// scrape stores what was served at the end of the run so far.
func (r *recorded) scrape(t *testing.T, text []byte) {
	t.Helper()
	appender := r.storage.Appender(t.Context())
	served := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := served.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if entry != textparse.EntrySeries {
			continue
		}
		var series labels.Labels
		served.Labels(&series)
		series = labels.NewBuilder(series).Set("job", job).Set("instance", instance).Labels()
		_, _, value := served.Series()
		_, err = appender.Append(0, series, r.end.UnixMilli(), value)
		require.NoError(t, err)
		known := r.names[series.Get(model.MetricNameLabel)]
		if known == nil {
			known = map[string]struct{}{}
			r.names[series.Get(model.MetricNameLabel)] = known
		}
		series.Range(func(l labels.Label) { known[l.Name] = struct{}{} })
	}
	require.NoError(t, appender.Commit())
}

// asksForWhatThereIs checks that each metric in the query exists and has every label that the query names.
func (r *recorded) asksForWhatThereIs(t *testing.T, query string) {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	require.NoError(t, err, query)
	var asked []map[string]struct{}
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			require.Contains(t, r.names, selector.Name, query)
			asked = append(asked, r.names[selector.Name])
			for _, matcher := range selector.LabelMatchers {
				require.Contains(t, r.names[selector.Name], matcher.Name, query)
			}
		}
		return nil
	})
	require.NotEmpty(t, asked, query)
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		if sum, ok := node.(*parser.AggregateExpr); ok {
			for _, label := range sum.Grouping {
				require.True(t, slices.ContainsFunc(asked, func(known map[string]struct{}) bool { _, ok := known[label]; return ok }), "%s: no %s", query, label)
			}
		}
		return nil
	})
}

func TestARecordedRun(t *testing.T) {
	r := recordedRun(t)
	t.Run("the dashboard shows it", r.isShown)
	t.Run("and it is alerted of", r.isAlertedOf)
}

// isShown checks that each query of each panel names existing metrics and has something to draw.
func (r *recorded) isShown(t *testing.T) {
	grafana := strings.NewReplacer("$__rate_interval", (4 * scraped).String(), "$job", job)
	for _, panel := range panels(t) {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			query := grafana.Replace(target.Expr)
			require.NotContains(t, query, "$", panel.Title)
			r.asksForWhatThereIs(t, query)
			asked, err := r.engine.NewRangeQuery(t.Context(), r.storage, nil, query, time.Unix(0, 0), r.end, scraped)
			require.NoError(t, err, query)
			drawn, err := asked.Exec(t.Context()).Matrix()
			require.NoError(t, err, query)
			points := 0
			for _, series := range drawn {
				for _, point := range series.Floats {
					if !math.IsNaN(point.F) && !math.IsInf(point.F, 0) {
						points++
					}
				}
			}
			require.Positive(t, points, "%s: %s", panel.Title, query)
			asked.Close()
		}
	}
}

// isAlertedOf checks that the alerts for the faults in the run fire, no others do, and all are over at the end.
func (r *recorded) isAlertedOf(t *testing.T) {
	for _, alert := range alertsOf(t) {
		r.asksForWhatThereIs(t, alert.Expr.StrVal)
	}
	groups := load(t, scraped, rules.EngineQueryFunc(r.engine, r.storage), teststorage.New(t))
	fired, firing := map[string]bool{}, map[string]bool{}
	for now := time.Unix(0, 0).Add(scraped); !now.After(r.end); now = now.Add(scraped) {
		firing = map[string]bool{}
		for _, alert := range fires(t, groups, now) {
			firing[alert.Labels.Get(labels.AlertName)] = true
		}
		maps.Copy(fired, firing)
	}
	require.Equal(t, []string{
		"EvictkitAllZonesDown", "EvictkitBlind", "EvictkitEvictionsLate", "EvictkitNobodyLeads", "EvictkitNodesWait", "EvictkitWritesFail", "EvictkitZoneDisrupted",
	}, slices.Sorted(maps.Keys(fired)))
	require.Empty(t, firing)
}
