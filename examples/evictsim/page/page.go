// Package page writes the results of simulations as one HTML file that opens offline: figures, charts, and the stories of nodes
// and pods. uPlot draws the charts; its folder has its licence. The data is JSON within the page. Verdicts, expectations and drills
// are HTML that needs no script.
package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

//go:embed page.html page.css page.js drill.html verdicts.html uplot
var files embed.FS

// Data is the content of a page.
type Data struct {
	Version int      `json:"version"`
	Verdict string   `json:"-"`                // on several runs
	Varied  []string `json:"varied,omitempty"` // what differs between several runs
	Runs    []Run    `json:"runs"`
	Drill   *Drill   `json:"-"` // above the runs; nil if they are not of a drill
}

// Run is one simulation. The page shows the stories of the first run that has any.
type Run struct {
	Label      string               `json:"label"`
	Values     []string             `json:"values"` // of what is varied
	Played     string               `json:"-"`      // what was played
	Engine     string               `json:"engine"`
	Settings   []outcome.Field      `json:"settings"`
	Figures    map[string]float64   `json:"figures"`
	Verdict    string               `json:"-"` // one sentence
	Details    []string             `json:"-"` // sentences that say more
	Checks     []scenariofile.Check `json:"-"`
	Notes      []string             `json:"notes"` // sentences that explain the verdict
	Events     []Event              `json:"events"`
	MoreEvents int                  `json:"moreEvents"` // not shown
	Series     Series               `json:"series"`
	Workloads  []Workload           `json:"workloads"`
	More       int                  `json:"moreWorkloads"` // not shown
	Stories    map[string][]Moment  `json:"stories"`       // by node
	Untold     int                  `json:"untold"`        // nodes whose stories found no room
}

// Event is something that was done to the cluster, once or several times.
type Event struct {
	Text string `json:"text"` // with the times
	// Spans are when its effect began and ended, in seconds; equal if it has no lasting effect.
	Spans [][2]float64 `json:"spans"`
	Zones []string     `json:"zones"` // where, by the names of Series.Zones; empty if everywhere
}

// Moment is one entry of a story.
type Moment struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
	Pod  string  `json:"pod,omitempty"`
}

// Series are values at equal steps from time 0 on.
type Series struct {
	Step        float64   `json:"step"`
	States      []string  `json:"states"`
	Zones       []Zone    `json:"zones"`
	Without     []int     `json:"without"`
	Marked      []int     `json:"marked"` // not Ready by the controller
	Pending     []int     `json:"pending"`
	Held        []int     `json:"held"` // pods of StatefulSets that are not created yet
	Terminating []int     `json:"terminating"`
	Evicted     []int     `json:"evicted"`
	Tainted     []int     `json:"tainted"`
	Delays      []float64 `json:"delays"` // percentiles 0 to 100, in seconds
	Late        int       `json:"late"`   // pods among these that are still there
	// Peaks are of Without, Marked, Pending, Held and Terminating, in this order: the most, and when that began.
	Peaks [][2]float64 `json:"peaks"`
}

// Zone is the number of nodes in each state.
type Zone struct {
	Name   string  `json:"name"`
	Values [][]int `json:"values"` // by state
	// Least is the fewest nodes with a live kubelet, and LeastAt when that began, in seconds.
	Least   int     `json:"least"`
	LeastAt float64 `json:"leastAt"`
}

// Workload is one row of the map. Live are percentages at equal steps over the whole time.
type Workload struct {
	Name      string  `json:"name"`
	Desired   int     `json:"desired"`
	Lowest    int     `json:"lowest"`
	Below     float64 `json:"below"`
	BelowHalf float64 `json:"belowHalf"`
	// Gone is how many pods at most were without endpoints at once, LongestGone for how many seconds one was. Missing are
	// pod-hours.
	Gone        int     `json:"gone"`
	LongestGone float64 `json:"longestGone"`
	Missing     float64 `json:"missing"`
	// BelowBudget is for how long a disruption budget was not kept, -1 without one. Short are the places in Live where it was
	// not kept.
	BelowBudget float64 `json:"belowBudget"`
	Short       []int   `json:"short,omitempty"`
	Live        []int   `json:"live"`
}

// static is the part of a page that needs no script.
var static = template.Must(template.New("").Funcs(template.FuncMap{
	"title": func(text string) string { return strings.ToLower(strings.TrimPrefix(text, ">")) },
}).ParseFS(files, "drill.html", "verdicts.html"))

// Write writes the page.
func Write(w io.Writer, d *Data) error {
	data, err := json.Marshal(d) // this escapes whatever would end a script
	if err != nil {
		return err
	}
	parts := []string{"%%DATA%%", string(data)}
	for mark, name := range map[string]string{"%%DRILL%%": "drill.html", "%%VERDICTS%%": "verdicts.html", "%%BEST%%": "best"} {
		text := &strings.Builder{}
		if err := static.ExecuteTemplate(text, name, d); err != nil {
			return fmt.Errorf("page: %w", err)
		}
		parts = append(parts, mark, text.String())
	}
	for mark, file := range map[string]string{
		"%%UPLOT.CSS%%": "uplot/uPlot.min.css", "%%UPLOT.JS%%": "uplot/uPlot.iife.min.js", "%%UPLOT.LICENSE%%": "uplot/LICENSE",
		"%%PAGE.CSS%%": "page.css", "%%PAGE.JS%%": "page.js",
	} {
		text, err := files.ReadFile(file)
		if err != nil {
			return fmt.Errorf("page: %w", err)
		}
		parts = append(parts, mark, string(text))
	}
	frame, err := files.ReadFile("page.html")
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = strings.NewReplacer(parts...).WriteString(w, string(frame))
	return err
}
