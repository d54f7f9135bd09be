package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/drill"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/evictsim/page"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// drillFlags select what a drill loses.
type drillFlags struct {
	labels []string
	lost   time.Duration
}

// Limits of a drill.
const (
	mostHurts    = 2 // losses that are looked into
	mostSearched = 4 // losses that settings are searched over
	mostFront    = 6 // settings in the table
	longestLost  = 365 * 24 * time.Hour
)

func drillCommand(f *flags) *cobra.Command {
	var d drillFlags
	c := &cobra.Command{
		Use:   "drill DUMP…",
		Short: "Lose each part of a cluster in turn, and say what hurts most, what helps, and which settings are better",
		Long: `Lose each part of a cluster in turn, and say what hurts most, what helps, and which settings are better.

DUMP is what kubectl get nodes,pods,pdb,pv,pvc,jobs,statefulsets -A -o yaml prints, or a file of evictsim snapshot. The drill loses each
zone, the nodes with each value of a label of --by, and the fullest node of each class of machines. It also plays each loss as
a false alarm: the nodes run on, but are silent for 1, 3, 10 and 30 minutes. What the worst losses break it groups by cause, and it
plays each remedy that it knows for that on this cluster. Then it searches for settings that are better over the worst losses and over their false alarms, of 1 to 30 minutes: one of 1 to 2 minutes counts as likely as one of 2 to 4.
Today's settings are those of kube-controller-manager unless --set config.… says otherwise. The kubelet of a lost node that is
back reports that it is not ready for 15 seconds, as real ones do; --set heartbeat.notReadyFor=… changes that. The page of
--report shows all of this, and the worst loss with today's settings and with the best.`,
		Example: "  evictsim drill dump.yaml\n  evictsim drill dump.yaml --by example.com/rack --set config.nodeMonitorGracePeriod=40s",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("drill needs a file of the cluster's objects: kubectl get nodes,pods,pdb,pv,pvc,jobs,statefulsets -A -o yaml > dump.yaml"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.drill(c, &d, args) },
	}
	c.Flags().StringSliceVar(&d.labels, "by", nil, "also lose the nodes with each value of this `LABEL`, such as that of their rack")
	c.Flags().DurationVar(&d.lost, "lost", time.Hour, "how long nodes are lost")
	return c
}

func (f *flags) drill(c *cobra.Command, d *drillFlags, files []string) error {
	f.sets = append([]string{notReady + "=" + short(drill.NotReadyFor)}, f.sets...)
	sets, err := f.check(c)
	switch {
	case err != nil:
		return err
	case f.scenario != "":
		return usage(errors.New("drill takes a cluster's objects and makes its own scenarios: leave out --scenario"))
	case c.Flags().Changed("until"):
		return usage(errors.New("drill chooses its end: leave out --until, or set --lost"))
	case f.output == "csv":
		return usage(errors.New("drill writes text or json"))
	case f.engine.choice != ours:
		return usage(errors.New("drill plays only with evictkit's engine"))
	case d.lost < 10*time.Minute:
		return usage(fmt.Errorf("--lost %s is too short to compare settings: the least is 10m", d.lost))
	case d.lost > longestLost:
		return usage(fmt.Errorf("--lost %s is too long: the most is %s, a year", d.lost, longestLost))
	}
	today, err := todayOf(sets)
	if err != nil {
		return usage(err)
	}
	for i := range files {
		files[i] = under(files[i])
	}
	began := time.Now()
	var report *whole
	if f.report != "" {
		if report, err = create("report", under(f.report), nil); err != nil {
			return err // before the runs, which may take minutes
		}
	}
	a, err := f.drilled(c, d, files, today, report)
	if report != nil {
		err = report.keep(err)
	}
	if err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(c.ErrOrStderr(), "%s in %s\n", some(a.Runs, "run"), time.Since(began).Round(time.Second))
	}
	if f.output == "json" {
		encoder := json.NewEncoder(c.OutOrStdout())
		encoder.SetIndent("", " ")
		return encoder.Encode(a)
	}
	a.tell(c.OutOrStdout())
	return nil
}

// drilled plays the drill, and writes its report unless that is nil.
func (f *flags) drilled(c *cobra.Command, d *drillFlags, files []string, today *simulation.Scenario, report *whole) (*assessment, error) {
	ctx := c.Context()
	cluster, err := drill.Open(ctx, files, today.Config)
	if err != nil {
		return nil, ofInput(err)
	}
	cluster.NotReadyFor = today.NotReadyFor
	losses, err := cluster.Losses(d.labels, d.lost)
	if err != nil {
		return nil, usage(fmt.Errorf("--by: %w", err))
	}
	a, err := f.assess(ctx, cluster, losses, c.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	a.Files, a.sets, a.NotReady, a.Waiting = files, f.sets, cluster.NotReadyFor.Seconds(), cluster.Waiting
	a.Play = a.command()
	if report != nil {
		err = drillReport(ctx, report, cluster, a)
	}
	return a, err
}

// notReady is a setting of the drill's scenarios that is no setting of an evictor.
const notReady = "heartbeat.notReadyFor"

// todayOf returns the settings that --set changes.
func todayOf(sets []scenariofile.Set) (*simulation.Scenario, error) {
	for _, set := range sets {
		if !strings.HasPrefix(set.Path, "config.") && set.Path != notReady {
			return nil, fmt.Errorf("--set %s: drill makes its own scenarios, so only config.… and %s can be set", set.Path, notReady)
		}
	}
	text := []byte("until: 1h\n")
	s, err := scenariofile.Parse("drill", text, sets...)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Config.UseEvictionAPI:
		return nil, errors.New("--set config.useEvictionAPI: drill deletes pods, as kube-controller-manager does, and asks no disruption budget")
	case s.Config.KubeAPIQPS != 0 || s.Config.KubeAPIBurst != 0:
		return nil, errors.New("--set config.kubeAPIQPS, config.kubeAPIBurst: drill plays without a limit of writes")
	case !s.Config.LeaderElection:
		return nil, errors.New("--set config.leaderElection: drill plays with leader election")
	}
	today := simulation.Scenario{Config: s.Config.Evictor(), NotReadyFor: s.Heartbeat.NotReadyFor}
	_, err = simulation.New(today) // checks them
	return &today, scenariofile.Locate("drill", text, err, sets...)
}

// drillVersion is the version of a drill's JSON. It stays when fields are added.
const drillVersion = 2

// assessment is the result of a drill.
type assessment struct {
	Version      int            `json:"version"`
	Files        []string       `json:"files"`
	Runs         int            `json:"runs"`
	Nodes        int            `json:"nodes"`
	Pods         int            `json:"pods"`
	Losses       []lossTold     `json:"losses"`
	Worst        []worstTold    `json:"worst"`
	Today        scoreTold      `json:"today"`
	Best         scoreTold      `json:"best"`
	Front        []scoreTold    `json:"front"`
	Searched     int            `json:"settingsPlayed"`
	SearchedOver int            `json:"lossesSearchedOver"`
	Advice       string         `json:"advice"`
	Apply        []page.Apply   `json:"apply"`
	Play         string         `json:"play"` // the command that plays the worst loss with the best settings
	NotSimulated map[string]int `json:"notSimulated"`
	NotReady     float64        `json:"notReadyForSeconds"` // at first, after a loss
	Waiting      int            `json:"waitingPods"`        // without a node, and left out
	Headline     string         `json:"headline"`
	Helps        string         `json:"helps"` // most, against the worst loss

	advice *drill.Advice
	sets   []string
	worst  *drill.Result
}

// lossTold is a loss, or a false alarm, under today's settings. Its figures have the names of scenario files.
type lossTold struct {
	Name       string             `json:"name"`
	Nodes      int                `json:"nodes"`
	ForSeconds float64            `json:"forSeconds"`
	FalseAlarm bool               `json:"falseAlarm"`
	Stuck      int                `json:"stuckPods"` // deleted, and not replaceable before the nodes are back
	Figures    map[string]float64 `json:"figures"`
}

// scoreTold is what settings cost. EvictedWhileRunning is an expected number; see drill.Score.
type scoreTold struct {
	NodeEvictionRate       float64 `json:"nodeEvictionRate"`
	UnhealthyZoneThreshold float64 `json:"unhealthyZoneThreshold"`
	NodeMonitorGracePeriod string  `json:"nodeMonitorGracePeriod"`
	TolerationSeconds      int     `json:"tolerationSeconds"`
	PodHoursLost           float64 `json:"podHoursLost"`
	PodHoursMissing        float64 `json:"podHoursMissing"`
	MostPending            int     `json:"mostPending"` // in the loss with the most
	PodHoursBeforeEviction float64 `json:"podHoursBeforeEviction"`
	EvictedWhileRunning    float64 `json:"evictedWhileRunning"`
}

func scoreOf(s *drill.Score) scoreTold {
	return scoreTold{
		s.Rate, s.Threshold, s.Grace.String(), int(s.Tolerance / time.Second), s.PodHoursLost, s.PodHoursMissing, s.MostPending, s.BeforeEviction,
		math.Round(10*s.EvictedWhileRunning) / 10,
	}
}

// assess plays all losses with today's settings, finds out what the worst ones break and what helps, and searches settings over those.
func (f *flags) assess(ctx context.Context, cluster *drill.Cluster, losses []drill.Loss, stderr io.Writer) (*assessment, error) {
	searched := min(mostSearched, len(losses)/drill.Alike)
	looked := min(mostHurts, len(losses)/drill.Alike)
	began := time.Now()
	first, err := cluster.Play(ctx, losses[0])
	if err != nil {
		return nil, err
	}
	runs := len(losses) + looked*drill.RunsOfRemedies + drill.Runs(searched)
	if !f.quiet {
		fmt.Fprintf(stderr, "playing %s losses and false alarms with today's settings, remedies for the worst %d, and settings over the worst %d: up to %s, about %s\n",
			count(len(losses)), looked, searched, some(runs, "run"), roughly(time.Since(began)*time.Duration(runs)/time.Duration(runtime.GOMAXPROCS(0))))
	}
	b := newBar(stderr, f.quiet, 1, "drilling")
	defer b.finish()
	var done atomic.Int64
	shown := b.ticks(runs)
	if b == nil && !f.quiet {
		shown = tenths(stderr, runs, began)
	}
	tick := func() {
		done.Add(1)
		shown()
	}
	results, err := playLosses(ctx, cluster, losses, first, tick)
	if err != nil {
		return nil, err
	}
	a := &assessment{Version: drillVersion}
	for i := range results {
		a.Losses = append(a.Losses, lossOf(&results[i]))
	}
	a.Nodes, a.Pods, a.NotSimulated = first.Report.Nodes, first.Pods, first.NotSimulated
	worst := slices.DeleteFunc(results, func(r drill.Result) bool { return r.FalseAlarm })
	slices.SortStableFunc(worst, func(x, y drill.Result) int { return cmp.Compare(y.PodHoursLost, x.PodHoursLost) })
	a.worst = &worst[0]
	for _, r := range worst[:looked] {
		broken, err := cluster.Break(ctx, r, tick)
		if err != nil {
			return nil, err
		}
		a.Worst = append(a.Worst, worstOf(broken))
	}
	a.Headline, a.Helps = a.Worst[0].headline(), a.Worst[0].best()
	search := drill.Search{Cluster: cluster, Tick: tick}
	for _, r := range worst[:searched] {
		for _, loss := range losses {
			if loss.Name == r.Name {
				search.Losses = append(search.Losses, loss)
			}
		}
	}
	if a.advice, err = search.Run(ctx); err != nil {
		return nil, err
	}
	a.advised(searched)
	a.Runs = int(done.Load())
	return a, nil
}

// tenths tells each tenth of the runs, where there is no progress bar.
func tenths(stderr io.Writer, runs int, began time.Time) (tick func()) {
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; 10*done/runs > 10*(done-1)/runs {
			fmt.Fprintf(stderr, "%d of at most %s after %s\n", done, some(runs, "run"), roughly(time.Since(began)))
		}
	}
}

// advised tells what the search over so many losses found.
func (a *assessment) advised(searched int) {
	a.Today, a.Best, a.Searched = scoreOf(&a.advice.Today), scoreOf(&a.advice.Best), a.advice.Played
	for i := range a.advice.Front {
		a.Front = append(a.Front, scoreOf(&a.advice.Front[i]))
	}
	a.SearchedOver = searched
	a.Advice, a.Apply = advise(a.advice), apply(&a.advice.Best)
}

// playLosses plays losses with today's settings, all but the first.
func playLosses(ctx context.Context, cluster *drill.Cluster, losses []drill.Loss, first drill.Result, tick func()) ([]drill.Result, error) {
	results := make([]drill.Result, len(losses))
	results[0] = first
	tick()
	group, playing := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := 1; i < len(losses); i++ {
		group.Go(func() (err error) {
			results[i], err = cluster.Play(playing, losses[i])
			tick()
			return err
		})
	}
	return results, group.Wait()
}

// roughly rounds a time to what an estimate is worth.
func roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return short(max(d.Round(time.Second), time.Second))
	case d < 2*time.Minute:
		return short(d.Round(10 * time.Second))
	}
	return short(d.Round(time.Minute))
}

func lossOf(r *drill.Result) lossTold {
	return lossTold{r.Name, len(r.Loss.Nodes), r.For.Seconds(), r.FalseAlarm, r.Stuck(), outcome.Values(simulation.Figures(r.Report))}
}
