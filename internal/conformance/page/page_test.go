package page

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// most is the greatest size of the embedded scenario's page.
const most = 2 << 20

// outcome is the part of the JSON that is compared with the page.
type outcome struct {
	Version   int                `json:"version"`
	Figures   map[string]float64 `json:"figures"`
	Workloads []struct{ Name string }
}

// written builds simulate, plays the embedded scenario, and returns the page and the JSON.
func written(t *testing.T, args ...string) (page string, o outcome) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "simulate")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./simulate")
	build.Dir = filepath.Join("..", "..", "..", "examples")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	page = filepath.Join(dir, "out.html")
	out, err = exec.CommandContext(t.Context(), program, append(args, "--report", page, "-o", "json", "--quiet")...).Output()
	require.NoError(t, err)
	if !strings.HasPrefix(string(out), "[") {
		require.NoError(t, json.Unmarshal(out, &o))
	}
	return page, o
}

// open opens the page. messages returns the console's output so far.
func open(t *testing.T, page string) (ctx context.Context, messages func() []string) {
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
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+page), chromedp.WaitVisible(chromedp.CSS("#nodes canvas"))))
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
	page, o := written(t)
	info, err := os.Stat(page)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(most))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.NotContains(t, string(text), `src="http`, "it opens without a network")
	require.Contains(t, string(text), "Copyright (c) 2022 Leon Sorokin", "with the licence of what draws it")

	ctx, messages := open(t, page)
	figures := value[map[string]float64](t, ctx, `JSON.parse(document.getElementById("data").textContent).runs[0].figures`)
	require.Equal(t, o.Figures, figures)
	for figure, want := range map[string]string{"evicted": "268", "needlessEvictions": "268", "podHoursLost": "168", "lastEvictionSeconds": "39m15s"} {
		require.Equal(t, want, value[string](t, ctx, `document.getElementById("figure-`+figure+`").textContent`), figure)
	}
	require.InDelta(t, 268, o.Figures["evicted"], 0)
	require.Equal(t, 4, value[int](t, ctx, `document.querySelectorAll(".chart canvas").length`))
	require.Equal(t, "1", value[string](t, ctx, `document.querySelector("#nodes .uplot").dataset.bands`), "the two outages are one after the other, in one row of bands")
	require.Contains(t, value[string](t, ctx, `document.getElementById("events").textContent`), "5m to 15m fail zone a")

	// By mouse: select a node, and a pod in its story.
	require.NoError(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS("#nodelist button"))))
	require.Contains(t, value[string](t, ctx, `document.getElementById("story").textContent`), "the kubelet falls silent")
	require.NoError(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS("#story button"))))
	require.Regexp(t, "^default/a-000-p[0-9]$", value[string](t, ctx, `document.getElementById("who").value`))
	// By keyboard: change the order of the table, and read the values of a chart.
	require.Equal(t, "default/ReplicaSet/b", value[string](t, ctx, `document.querySelector("#loads tbody td").textContent`))
	require.NoError(t, chromedp.Do(ctx, chromedp.Focus(chromedp.CSS("#loads th button")), chromedp.KeyEvent("\r")))
	require.Equal(t, "default/ReplicaSet/a", value[string](t, ctx, `document.querySelector("#loads tbody td").textContent`))
	require.NoError(t, chromedp.Do(ctx, chromedp.Focus(chromedp.CSS("#pods"))))
	value[bool](t, ctx, `document.getElementById("pods").dispatchEvent(new KeyboardEvent("keydown", {key: "PageDown"}))`)
	require.Regexp(t, `^2m`, value[string](t, ctx, `document.querySelector("#pods .u-legend .u-value").textContent`))

	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 900)))
			_, err = chromedp.Run(ctx, chromedp.Poll[bool](`[...document.querySelectorAll(".chart canvas")].every(c => c.getBoundingClientRect().width <= innerWidth)`))
			require.NoError(t, err)
			require.LessOrEqual(t, value[int64](t, ctx, `document.documentElement.scrollWidth`), width, "nothing sticks out")
			shot(t, ctx, scheme+map[int64]string{1280: "-desk", 390: "-phone"}[width])
		}
	}
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
	page, _ := written(t, "--scenario", scenario)
	ctx, messages := open(t, page)
	row := func(of string) string {
		return `[...document.querySelectorAll("#loads tbody tr")].find(tr => tr.firstChild.textContent === "default/ReplicaSet/` + of + `")`
	}
	require.Equal(t, "18m", value[string](t, ctx, row("web")+`.children[5].textContent`))
	require.Equal(t, "–", value[string](t, ctx, row("free")+`.children[5].textContent`))
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

// TestPageOfASweep: one curve of delays for each run, and a choice between the runs.
func TestPageOfASweep(t *testing.T) {
	page, _ := written(t, "sweep", "--set", "config.nodeEvictionRate=0.05,0.1,1")
	ctx, messages := open(t, page)
	require.Equal(t, 3, value[int](t, ctx, `document.querySelectorAll("#run option").length`))
	require.Equal(t, 4, value[int](t, ctx, `document.querySelectorAll("#delay .u-legend .u-series").length`), "with the axis")
	before := value[string](t, ctx, `document.getElementById("figure-evicted").textContent`)
	require.NoError(t, chromedp.Do(ctx, chromedp.SetValue(chromedp.CSS("#run"), "2")))
	value[bool](t, ctx, `document.getElementById("run").dispatchEvent(new Event("change"))`)
	require.Equal(t, "612", value[string](t, ctx, `document.getElementById("figure-evicted").textContent`))
	require.NotEqual(t, "612", before)
	shot(t, ctx, "sweep")
	require.Empty(t, messages(), "the console is silent")
}
