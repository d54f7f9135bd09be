package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/page"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// most is the greatest size of the embedded scenario's page.
const most = 2 << 20

// outcome is the part of the JSON that is compared with the page.
type outcome struct {
	Version   int                `json:"version"`
	Figures   map[string]float64 `json:"figures"`
	Workloads []struct{ Name string }
}

var programs string // a folder

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "page"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// built builds simulate once, and returns its path.
var built = sync.OnceValues(func() (string, error) {
	program := filepath.Join(programs, "evictsim")
	build := exec.Command("go", "build", "-o", program, "./evictsim")
	build.Dir = filepath.Join("..", "..", "..", "examples")
	out, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return program, err
})

// written plays the embedded scenario, unless args say otherwise, and returns the page and the JSON.
func written(t *testing.T, args ...string) (path string, o outcome) {
	t.Helper()
	dir := t.TempDir()
	program, err := built()
	require.NoError(t, err)
	path = filepath.Join(dir, "out.html")
	out, err := exec.CommandContext(t.Context(), program, append(args, "--report", path, "-o", "json", "--quiet")...).Output()
	require.NoError(t, err)
	if !strings.HasPrefix(string(out), "[") {
		require.NoError(t, json.Unmarshal(out, &o))
	}
	return path, o
}

// open opens the page. messages returns the console's output so far.
func open(t *testing.T, path string) (ctx context.Context, messages func() []string) {
	t.Helper()
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no Chromium: the page is not opened (Debian: apt-get install --no-install-recommends chromium)")
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, chromedp.ExecPath(browser), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	require.NoError(t, chromedp.Do(ctx))
	var mu sync.Mutex
	var said []string
	console := chromedp.Console(ctx)
	go func() {
		for message, err := range console {
			if err != nil {
				return
			}
			mu.Lock()
			said = append(said, string(message.Type)+": "+message.Text)
			mu.Unlock()
		}
	}()
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+path), chromedp.WaitVisible(chromedp.CSS("body[data-drawn]"))))
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return said
	}
}

func value[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(t, err, expression)
	return v
}

// shot writes a picture to where EVICTKIT_SCREENSHOTS says.
func shot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("EVICTKIT_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
}

func TestPageSaysWhatTheJSONSays(t *testing.T) {
	path, o := written(t)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(most))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(text), `src="http`, "it opens without a network")
	require.Contains(t, string(text), "Copyright (c) 2022 Leon Sorokin", "with the licence of what draws it")

	ctx, messages := open(t, path)
	figures := value[map[string]float64](t, ctx, `JSON.parse(document.getElementById("data").textContent).runs[0].figures`)
	require.Equal(t, o.Figures, figures)
	for figure, want := range map[string]string{"evicted": "268", "needlessEvictions": "208", "podHoursLost": "168", "lastEvictionSeconds": "39m15s"} {
		require.Equal(t, want, value[string](t, ctx, `document.getElementById("figure-`+figure+`").textContent`), figure)
	}
	require.InDelta(t, 268, o.Figures["evicted"], 0)
	require.Equal(t, 6, value[int](t, ctx, `document.querySelectorAll(".chart canvas").length`), "two of zones, one of pods, two of rates, one of delays")
	require.Equal(t, "2 zones lost nodes: 268 pods were evicted.", value[string](t, ctx, `document.querySelector("#verdicts .verdict").textContent`))
	require.Equal(t, []string{
		"Zone r1:a lost all of its 60 nodes (below half for 10m) and zone r1:b lost 40 of 60 nodes (below half for 15m): 268 pods were evicted, " +
			"the slowest 14m15s after its node fell silent, 208 of them needlessly, because their nodes were silent for no longer than 10m.",
		"880 pods lost their endpoints for up to 14m10s (median 9m10s).", "2 workloads had fewer than half of their pods live for up to 15m.",
	}, value[[]string](t, ctx, `[...document.querySelectorAll("#verdicts .details li")].map(e => e.textContent)`))
	require.Equal(t, []string{"60 nodes at the start; at worst 60 not live, from 5m on.", "60 nodes at the start; at worst 40 not live, from 25m on."},
		value[[]string](t, ctx, `[...document.querySelectorAll("#nodes .read")].map(e => e.textContent)`), "when the events happened, which is between two steps")
	require.Equal(t, []string{"fail zone a at 5m for 10m", "fail 40 nodes of zone b at 25m for 15m"}, value[[]string](t, ctx, `[...document.querySelectorAll("#events span")].map(e => e.textContent)`))
	require.Contains(t, value[string](t, ctx, `document.getElementById("nodes").textContent`), "The nodes of zone r1:c were live all the time.", "in words, because there is nothing to draw")

	require.Equal(t, "Nodes tainted within 1m3s, all zones together: at most 7, around 6m46s.", value[string](t, ctx, `document.querySelector("#rate .read").textContent`))
	require.Empty(t, value[[]string](t, ctx, `[...document.querySelectorAll("#rate .legend")].map(e => e.textContent)`), "no limit of all zones beside it")

	// Select a node, and a pod in its story.
	value[bool](t, ctx, `(nodes => { nodes.selectedIndex = 1; return nodes.dispatchEvent(new Event("change")); })(document.getElementById("nodelist"))`)
	require.Contains(t, value[string](t, ctx, `document.getElementById("story").textContent`), "the kubelet falls silent")
	require.NoError(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS("#story button"))))
	require.Regexp(t, "^default/a-000-p[0-9]$", value[string](t, ctx, `document.getElementById("who").value`))
	for _, text := range []string{"evicted from node a-000", " is replaced by default/a-000-p", "the kubelet is back"} {
		require.Contains(t, value[string](t, ctx, `document.getElementById("story").textContent`), text)
	}
	// By keyboard: change the order of the table, and read the values of a chart.
	require.Equal(t, "default/ReplicaSet/b", value[string](t, ctx, `document.querySelector("#loads tbody td").textContent`))
	require.NoError(t, chromedp.Do(ctx, chromedp.Focus(chromedp.CSS("#loads th button")), chromedp.KeyEvent("\r")))
	require.Equal(t, "default/ReplicaSet/a", value[string](t, ctx, `document.querySelector("#loads tbody td").textContent`))
	require.NoError(t, chromedp.Do(ctx, chromedp.Focus(chromedp.CSS("#pods .chart"))))
	value[bool](t, ctx, `document.querySelector("#pods .chart").dispatchEvent(new KeyboardEvent("keydown", {key: "PageDown"}))`)
	require.Regexp(t, `^At 2m.*: 0 without a live node; 0 stuck terminating; 0 marked not Ready, so without endpoints$`, value[string](t, ctx, `document.querySelector("#pods .read").textContent`))
	require.Regexp(t, `^At 2m.*: 60 live$`, value[string](t, ctx, `document.querySelector("#nodes .read").textContent`), "all charts are read at the same time")

	everywhere(t, ctx, "embedded")
	printed(t, ctx)
	require.Empty(t, messages(), "the console is silent")
}

// TestPageOfBudgets: a workload is red while a disruption budget of its is not kept, however many of its pods are live.
func TestPageOfBudgets(t *testing.T) {
	dir := t.TempDir()
	objects := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}}\n"
	for _, n := range []string{"a", "b", "c"} {
		objects += "- {apiVersion: v1, kind: Node, metadata: {name: " + n + "}}\n"
		for _, w := range []string{"web", "free"} {
			objects += "- {apiVersion: v1, kind: Pod, metadata: {name: " + w + "-" + n + ", labels: {app: " + w + "}, ownerReferences: [{kind: ReplicaSet, name: " + w +
				", controller: true}]}, spec: {nodeName: " + n + "}}\n"
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(objects), 0o600))
	scenario := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(scenario, []byte("cluster: {files: [objects.yaml]}\nevents:\n- {at: 2m, fail: {node: a}}\nuntil: 20m\n"), 0o600))
	path, _ := written(t, "--scenario", scenario)
	ctx, messages := open(t, path)
	row := func(of string) string {
		return `[...document.querySelectorAll("#loads tbody tr")].find(tr => tr.firstChild.textContent === "default/ReplicaSet/` + of + `")`
	}
	require.Equal(t, "18m", value[string](t, ctx, row("web")+`.children[6].textContent`))
	require.Equal(t, "no budget", value[string](t, ctx, row("free")+`.children[6].textContent`))
	pixel := func(of string, x int) string {
		return value[string](t, ctx, `(map => {
			const copy = new OffscreenCanvas(map.width, map.height).getContext("2d", {willReadFrequently: true});
			copy.drawImage(map, 0, 0);
			return copy.getImageData(`+strconv.Itoa(x)+`, 15, 1, 1).data.join();
		})(`+row(of)+`.querySelector("canvas"))`)
	}
	require.Equal(t, pixel("web", 10), pixel("free", 10), "both are whole at first")
	require.NotEqual(t, pixel("web", 300), pixel("free", 300), "only the one with a budget is red")
	require.NotEqual(t, pixel("web", 10), pixel("web", 300))
	require.Empty(t, messages(), "the console is silent")
}

// resize waits until the page is drawn for a width.
func resize(t *testing.T, ctx context.Context, width int64) {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 900)))
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](`innerWidth === `+strconv.FormatInt(width, 10)+` && document.body.clientWidth >= innerWidth - 20 && +document.body.dataset.drawn === document.body.clientWidth`))
	require.NoError(t, err)
}

// everywhere opens the page at several widths, light and dark, and requires what holds at each of them.
func everywhere(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1920, 1280, 390} {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			require.NoError(t, err)
			resize(t, ctx, width)
			at := name + "-" + scheme + "-" + strconv.FormatInt(width, 10)
			shot(t, ctx, at)
			require.LessOrEqual(t, value[int64](t, ctx, `document.documentElement.scrollWidth`), width, at)
			for problem, expression := range problems {
				require.Empty(t, value[[]string](t, ctx, expression), "%s: %s", at, problem)
			}
		}
	}
}

// printed requires that paper shows a page in light colours, with charts as wide as the paper, and nothing to choose or to press.
func printed(t *testing.T, ctx context.Context) {
	t.Helper()
	resize(t, ctx, 1280)
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(718, 900))) // as wide as A4 without its margins
	shot(t, ctx, "printed")
	require.Equal(t, "rgb(255, 255, 255)", value[string](t, ctx, `getComputedStyle(document.body).backgroundColor`))
	require.Empty(t, value[[]string](t, ctx, `[...document.querySelectorAll("input, select, #story, .uplot, .u-wrap > canvas")].filter(e => e.checkVisibility()
		&& !(e.closest(".uplot") && e.getBoundingClientRect().right <= 718)).map(e => e.outerHTML.slice(0, 200))`))
}

// problems are expressions that list what is wrong with a page as it is shown.
var problems = map[string]string{
	"sticks out or is cut": `[...document.querySelectorAll("main *:not(.u-over *)")].filter(e => !e.closest("#nodelist, datalist, option, [hidden], details:not([open]) > :not(summary)")).filter(e => {
		const r = e.getBoundingClientRect(), cut = getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1;
		return r.width && (r.left < -.5 || r.right > innerWidth + .5 || cut);
	}).map(e => e.outerHTML.slice(0, 200))`,
	"a label of a chart is cut": `[...document.querySelectorAll(".u-wrap > canvas")].filter(c => {
		const {width, height} = c, copy = new OffscreenCanvas(width, height).getContext("2d", {willReadFrequently: true});
		copy.drawImage(c, 0, 0);
		return [[0, 0, 1, height], [width - 1, 0, 1, height], [0, 0, width, 1], [0, height - 1, width, 1]].some(edge => copy.getImageData(...edge).data.some(v => v));
	}).map(c => c.closest(".chart").getAttribute("aria-label"))`,
	"events cover each other": `(() => {
		const boxes = [...document.querySelectorAll("#events li")].flatMap((li, of) => [...li.children].map(e => ({of, r: e.getBoundingClientRect(), text: li.textContent})));
		return boxes.flatMap(a => boxes.filter(b => a.of < b.of && a.r.left < b.r.right && b.r.left < a.r.right && a.r.top < b.r.bottom && b.r.top < a.r.bottom).map(b => a.text + " / " + b.text));
	})()`,
	"names of curves cover each other": `[...document.querySelectorAll(".end")].map(e => e.getBoundingClientRect()).sort((a, b) => a.top - b.top)
		.filter((r, i, all) => i && r.top < all[i - 1].bottom - .5).map(r => "at " + r.top)`,
	"an event is not at its time": `(() => {
		const run = JSON.parse(document.getElementById("data").textContent).runs[document.getElementById("run").value], s = run.series, plot = document.querySelector("#nodes .u-over").getBoundingClientRect();
		const at = v => plot.left + plot.width * Math.min(v / ((s.without.length - 1) * s.step), 1);
		return [...document.querySelectorAll("#events li")].flatMap((li, i) => [...li.querySelectorAll(".bar")].filter((bar, k) => {
			const [from, to] = run.events[i].spans.filter(s => s[0] < s[1])[k];
			return bar.checkVisibility() && (Math.abs(bar.getBoundingClientRect().left - at(from)) > 1.5 || Math.abs(bar.getBoundingClientRect().right - at(to)) > 2.5);
		}).map(() => li.textContent));
	})()`,
	"events are folded, or not on a phone": `document.getElementById("done").open === innerWidth <= 700 && !document.getElementById("done").hidden ? ["" + innerWidth] : []`,
	"an axis has no name": `[...document.querySelectorAll(".chart")].filter((c, i, all) => {
		const [x, y] = c.dataset.axes.split(" / ");
		return !y || !x && all[i + 1]?.parentElement !== c.parentElement; // of zones below each other, the last one's names the time
	}).map(c => c.getAttribute("aria-label"))`,
	"plots are not aligned": `[...document.querySelectorAll("#nodes .u-over, #pods .u-over, #rate .u-over")].map(e => e.getBoundingClientRect())
		.filter((r, _, all) => Math.abs(r.left - all[0].left) > 1 || Math.abs(r.right - all[0].right) > 1).map(r => r.left + " to " + r.right)`,
	"too many tab stops": `(stops => stops.length > 40 ? stops : [])([...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
		.filter(e => e.tabIndex >= 0 && e.checkVisibility()).map(e => e.outerHTML.slice(0, 80)))`,
	"cells of a row are not aligned": `[...document.querySelectorAll("#runs tbody tr")].filter(tr => innerWidth > 700 && (tops => Math.max(...tops) - Math.min(...tops) > 4)([...tr.children].map(td => {
		const range = document.createRange();
		range.selectNodeContents(td);
		return range.getBoundingClientRect().top;
	}))).map(tr => tr.textContent)`,
	"a value is left open": `document.querySelector("main").innerText.match(/–|undefined|NaN|null/g) || []`,
}

// marksDiffer requires that the marks of each legend differ even if all colours are the same.
func marksDiffer(t *testing.T, ctx context.Context) {
	t.Helper()
	require.Empty(t, value[[]string](t, ctx, `(() => {
		for (const name of ["live", "silent", "waiting", "tainted", "returned", "a", "b", "c", "ink"]) document.documentElement.style.setProperty("--" + name, "#000000");
		document.getElementById("run").dispatchEvent(new Event("change"));
		const marks = within => [...within.querySelectorAll("canvas.mark")].map(c => c.toDataURL());
		const same = [...document.querySelectorAll(".legend, #curves .uplot")].filter(l => new Set(marks(l)).size < marks(l).length).map(l => l.textContent);
		document.documentElement.removeAttribute("style");
		document.getElementById("run").dispatchEvent(new Event("change"));
		return same;
	})()`))
}

func figures(value float64) map[string]float64 {
	all := make(map[string]float64)
	for _, f := range simulation.Figures(new(simulation.Report)) {
		all[f.Name] = value
	}
	return all
}

// TestPageOfALargeCluster: numbers with seven digits, many events with long texts, all states, and more zones than are shown.
func TestPageOfALargeCluster(t *testing.T) {
	const points, pods = 100, 3_000_000
	run := page.Run{Label: "this run", Engine: "evictkit", Verdict: "A verdict.", Played: "What was played.", Figures: figures(123_456_789)}
	s := page.Series{Step: 864, States: []string{"live", "silent, not yet noticed", "waiting for their taint", "tainted", "back, not yet cleared"}}
	for i := range 8 {
		z := page.Zone{Name: "region-one:zone-with-a-long-name-" + strconv.Itoa(i), Values: make([][]int, len(s.States))}
		for p := range points {
			for k := range z.Values {
				nodes := 0
				if k == (p/10+i)%len(s.States) {
					nodes = 100_000
				}
				z.Values[k] = append(z.Values[k], nodes)
			}
		}
		s.Zones = append(s.Zones, z)
	}
	for p := range points {
		s.Without, s.Pending, s.Terminating = append(s.Without, p*pods/points), append(s.Pending, (points-p)*pods/points), append(s.Terminating, p)
		s.Evicted, s.Tainted = append(s.Evicted, p*p*1000), append(s.Tainted, p*p)
	}
	for i := range 101 {
		s.Delays = append(s.Delays, float64(i*100))
	}
	run.Series = s
	for i := range 12 {
		e := page.Event{Text: "fail 12 nodes of zone zone-with-a-long-name-" + strconv.Itoa(i) + " ×24, every 1h from 30m, for 15m each"}
		for k := range 1 + 20*(i%2) {
			at := float64(i*7000 + k*3600)
			e.Spans = append(e.Spans, [2]float64{at, min(at+float64(i%3)*900, 86400)})
		}
		run.Events = append(run.Events, e)
		run.Workloads = append(run.Workloads, page.Workload{Name: "a-namespace-with-a-long-name/ReplicaSet/workload-" + strconv.Itoa(i), Desired: pods, Lowest: pods / 2, Below: 86400, BelowBudget: 60, Live: []int{100, 50}})
	}
	path := filepath.Join(t.TempDir(), "large.html")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, page.Write(file, &page.Data{Version: 1, Runs: []page.Run{run}}))
	require.NoError(t, file.Close())
	ctx, messages := open(t, path)
	require.Equal(t, 7, value[int](t, ctx, `document.querySelectorAll("#nodes .chart").length`), "the other zones are added up")
	require.Equal(t, []string{"tainted", "waiting for their taint", "silent, not yet noticed", "back, not yet cleared", "live"}, value[[]string](t, ctx, `[...document.querySelectorAll("#nodes .legend li")].map(e => e.textContent)`))
	rows := func() int {
		return value[int](t, ctx, `[...document.querySelectorAll("#loads tbody tr")].filter(tr => tr.checkVisibility()).length`)
	}
	require.Equal(t, 10, rows())
	everywhere(t, ctx, "large")
	require.Equal(t, "2 more", value[string](t, ctx, `document.getElementById("more-loads").textContent`))
	require.NoError(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS("#more-loads"))))
	require.Equal(t, 12, rows())
	marksDiffer(t, ctx)
	require.Empty(t, messages(), "the console is silent")
}

// TestPageWithoutAnything: what does not occur is said in words.
func TestPageWithoutAnything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.html")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, page.Write(file, &page.Data{Version: 1, Runs: []page.Run{{Engine: "upstream", Figures: figures(0)}}}))
	require.NoError(t, file.Close())
	ctx, messages := open(t, path)
	require.Zero(t, value[int](t, ctx, `document.querySelectorAll("canvas").length`))
	require.Contains(t, value[string](t, ctx, `document.getElementById("nodes").textContent`), "upstream records nothing over time")
	require.Empty(t, messages(), "the console is silent")
}

// TestPageOfASweep: it opens on a table of the runs, ten curves of delays are told apart, and one run can be chosen.
func TestPageOfASweep(t *testing.T) {
	path, _ := written(t, "sweep", "--set", "config.nodeEvictionRate=0.01,0.02,0.05,0.1,0.2,0.3,0.5,1,2,5")
	ctx, messages := open(t, path)
	require.Equal(t, "Of 10 runs, nodeEvictionRate 0.01 evicted the fewest pods (78), and nodeEvictionRate 5 lost the fewest pod-hours (118).", value[string](t, ctx, `document.querySelector("main .verdict").textContent`))
	require.True(t, value[bool](t, ctx, `[...document.querySelectorAll("main canvas")].every(c => document.getElementById("runs").compareDocumentPosition(c) & Node.DOCUMENT_POSITION_FOLLOWING)`))
	require.Equal(t, 10, value[int](t, ctx, `document.querySelectorAll("#runs tbody tr").length`))
	require.Equal(t, []string{"24", "54", "824", "54", "118", "118", "6m6s", "14m5s"}, value[[]string](t, ctx, `[...document.querySelectorAll("#runs .best")].map(e => e.textContent)`), "the best of each column")
	require.Equal(t, "0.01", value[string](t, ctx, `document.querySelector(".end").textContent`))
	everywhere(t, ctx, "sweep")
	marksDiffer(t, ctx)

	resize(t, ctx, 1280)
	position := value[[]float64](t, ctx, `(() => { const e = document.querySelector("#curves .u-over"); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return [r.left + r.width * .7, r.top + r.height - 2]; })()`)
	require.NoError(t, chromedp.Do(ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, position[0], position[1])))
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](`document.querySelector(".name:not([hidden])")?.textContent === "nodeEvictionRate 5"`))
	require.NoError(t, err, "hovering names the curve")
	for range 40 {
		value[bool](t, ctx, `document.querySelector("#curves .chart").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowUp"}))`)
	}
	require.Regexp(t, `^nodeEvictionRate 0.01: 70 % `, value[string](t, ctx, `document.querySelector("#curves .read").textContent`), "so do the arrow keys")

	require.NoError(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS("#runs tbody tr:nth-child(8) button"))))
	require.Equal(t, "612", value[string](t, ctx, `document.getElementById("figure-evicted").textContent`))
	require.Equal(t, "7", value[string](t, ctx, `document.getElementById("run").value`))
	require.NoError(t, chromedp.Do(ctx, chromedp.SetValue(chromedp.CSS("#run"), "0")))
	value[bool](t, ctx, `document.getElementById("run").dispatchEvent(new Event("change"))`)
	require.Equal(t, "78", value[string](t, ctx, `document.getElementById("figure-evicted").textContent`))
	require.Empty(t, messages(), "the console is silent")
}

// TestPageWithoutScripts: the verdicts and expectations of all runs are there, and nothing that is empty.
func TestPageWithoutScripts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "static.html")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, page.Write(file, &page.Data{Verdict: "The best.", Varied: []string{"rate"}, Runs: []page.Run{
		{Figures: figures(0), Label: "rate 1", Verdict: "A <b>verdict</b>.", Played: "This.", Checks: []scenariofile.Check{{Text: "evicted is 2, more than 1"}, {Text: "taints is 1, at most 1", Holds: true}}},
		{Figures: figures(0), Label: "rate 2", Verdict: "Another.", Played: "That."},
	}}))
	require.NoError(t, file.Close())
	ctx, _ := open(t, path)
	require.Equal(t, "The best. A <b>verdict</b>. ✗ fail evicted is 2, more than 1 ✓ pass taints is 1, at most 1 This.",
		value[string](t, ctx, `["#best", "#verdicts"].map(id => document.querySelector(id).innerText.trim().replace(/\s+/g, " ")).join(" ")`), "scripts show one run")
	_, err = chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("file://"+path), chromedp.WaitVisible(chromedp.CSS(".unscripted"))))
	shot(t, ctx, "static")
	text, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS("main")))
	require.NoError(t, err)
	require.Equal(t, "The best. rate 1 A <b>verdict</b>. ✗ fail evicted is 2, more than 1 ✓ pass taints is 1, at most 1 This. rate 2 Another. That. "+
		"The charts, figures and stories of this page need JavaScript.", strings.Join(strings.Fields(text), " "))
}

// TestPageOfARoll: nothing says that all went well above a chart or a figure that says otherwise.
func TestPageOfARoll(t *testing.T) {
	scenario := filepath.Join(t.TempDir(), "roll.yaml")
	require.NoError(t, os.WriteFile(scenario, []byte("cluster: {zones: [{name: a, nodes: 3, podsPerNode: 2}]}\nevents: [{at: 1m, roll: {zone: a, after: 5m}}]\nreschedule: {}\nuntil: 10m\n"), 0o600))
	path, _ := written(t, "--scenario", scenario)
	ctx, messages := open(t, path)
	require.NotContains(t, value[string](t, ctx, `document.querySelector("main").innerText`), "all the time, and no pod")
	require.NotContains(t, value[string](t, ctx, `document.getElementById("nodes").innerText`), "live all the time")
	require.Equal(t, "1", value[string](t, ctx, `document.getElementById("figure-rollsUnfinished").textContent`))
	require.Contains(t, value[string](t, ctx, `document.querySelector("main").innerText`), "The roll has replaced 2 of 3 nodes")
	require.Empty(t, messages(), "the console is silent")
}

// TestPageOfAComparison: each run has the events of its own scenario.
func TestPageOfAComparison(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"a", "b"} {
		files = append(files, filepath.Join(dir, strings.Repeat("a-long-name-", 15)+name+".yaml"))
		require.NoError(t, os.WriteFile(files[len(files)-1], []byte("cluster: {zones: [{name: a, nodes: 3}, {name: b, nodes: 2}]}\nevents: [{at: 1m, fail: {zone: "+name+"}}]\nuntil: 10m\n"), 0o600))
	}
	path, _ := written(t, "compare", files[0], files[1])
	ctx, messages := open(t, path)
	require.Empty(t, value[[]string](t, ctx, problems["cells of a row are not aligned"]), "although names wrap")
	require.LessOrEqual(t, value[int](t, ctx, `document.documentElement.scrollWidth`), 1280)
	require.Equal(t, "fail zone a at 1m to the end", value[string](t, ctx, `document.getElementById("events").textContent`))
	require.NoError(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS("#runs tbody tr:nth-child(2) button"))))
	require.Eventually(t, func() bool {
		return value[string](t, ctx, `document.getElementById("events").textContent`) == "fail zone b at 1m to the end"
	}, 10*time.Second, 10*time.Millisecond)
	require.Empty(t, messages(), "the console is silent")
}
