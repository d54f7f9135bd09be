package timeline

import (
	"encoding/json"
	"math"
	"math/rand"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var samples = []struct {
	line Line
	text string
}{
	{
		Line{T: 160 * time.Second, Kind: KindCondition, Node: "a-000", Type: "Ready", Status: "Unknown"},
		`{"t":160.000,"kind":"condition","node":"a-000","type":"Ready","status":"Unknown"}`,
	},
	{
		Line{T: 160*time.Second + 3333333*time.Nanosecond, Kind: KindTaint, Node: "a-000", Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", Op: OpAdd},
		`{"t":160.003,"kind":"taint","node":"a-000","key":"node.kubernetes.io/unreachable","effect":"NoExecute","op":"add"}`,
	},
	{Line{Kind: KindPodNotReady, Node: "a-000", Pod: "shop/x"}, `{"t":0.000,"kind":"podNotReady","node":"a-000","pod":"shop/x"}`},
	{Line{Kind: KindEvict, Node: "a-000", Pod: "x"}, `{"t":0.000,"kind":"evict","node":"a-000","pod":"x"}`},
	{Line{Kind: KindCancel, Node: "a-000", Pod: "x"}, `{"t":0.000,"kind":"cancel","node":"a-000","pod":"x"}`},
	{Line{Kind: KindSchedule, Node: "a-000", Pod: "x-r1"}, `{"t":0.000,"kind":"schedule","node":"a-000","pod":"x-r1"}`},
	{
		Line{T: time.Hour, Kind: KindZone, Zone: "r1:a", State: "PartialDisruption", Rate: 0.01, Ready: 44, NotReady: 56},
		`{"t":3600.000,"kind":"zone","zone":"r1:a","state":"PartialDisruption","rate":0.010,"ready":44,"notReady":56}`,
	},
	{Line{Kind: KindCluster, State: AllZonesDisrupted}, `{"t":0.000,"kind":"cluster","state":"AllZonesDisrupted"}`},
}

func TestLine(t *testing.T) {
	for _, sample := range samples {
		require.Equal(t, sample.text, string(sample.line.AppendJSON(nil)))
		parsed, err := Parse([]byte(sample.text))
		require.NoError(t, err)
		require.Equal(t, sample.text, string(parsed.AppendJSON(nil)))
		require.Zero(t, Compare(sample.line, parsed))
	}
	require.Equal(t, `x{"t":0.000,"kind":""}`, string((&Line{}).AppendJSON([]byte("x"))))
}

func TestLineEscapes(t *testing.T) {
	for _, name := range []string{"", "plain", `"\/`, "a\nb\tc\rd\x00e\x1f\x7f", "é€😀", "<&>", "\u2028", "bad\xffutf8"} {
		line := Line{Kind: KindEvict, Node: name, Pod: name}
		text := line.AppendJSON(nil)
		var decoded struct{ Node, Pod string }
		require.NoError(t, json.Unmarshal(text, &decoded), "%s", text)
		want := string([]rune(name)) // what is not UTF-8 becomes U+FFFD
		require.Equal(t, want, decoded.Node)
		require.Equal(t, want, decoded.Pod)
	}
	require.Contains(t, string((&Line{Kind: KindEvict, Node: "<é>\x01\n"}).AppendJSON(nil)), `"<é>\u0001\n"`)
}

func TestLineTimeIsComparedAsPrinted(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 20000 {
		d := time.Duration(random.Int63n(int64(1000 * time.Hour)))
		if random.Intn(2) == 0 {
			d = d.Truncate(time.Millisecond) + time.Millisecond/2 // a tie
		}
		printed, err := strconv.ParseFloat(string(appendDecimal(nil, d.Seconds())), 64)
		require.NoError(t, err)
		require.Equal(t, int64(math.Round(printed*1e3)), millis(d), "%v", d)
	}
	early := Line{T: 2*time.Second + 400*time.Microsecond, Kind: KindTaint}
	late := Line{T: 2 * time.Second, Kind: KindZone}
	require.Negative(t, Compare(early, late), "both print 2.000, so the kind decides")
}

func TestCompareOrder(t *testing.T) {
	// Each line differs from the previous one in the named field, and only later fields differ the other way.
	lines := []Line{
		{T: 1},
		{T: 2e6, State: "z"},
		{T: 2e6, Kind: "x", State: "y"},
		{T: 2e6, Kind: "x", Zone: "a", Status: "z"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a", Op: "z"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a", Pod: "a", Effect: "z"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a", Pod: "a", Key: "a", Type: "z"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a", Pod: "a", Key: "b", Type: "a"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a", Pod: "a", Key: "b", Type: "b", Effect: "a"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a", Pod: "a", Key: "b", Type: "b", Effect: "b", Op: "a"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a", Pod: "a", Key: "b", Type: "b", Effect: "b", Op: "b", Status: "a"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a", Pod: "a", Key: "b", Type: "b", Effect: "b", Op: "b", Status: "b"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a", Pod: "a", Key: "b", Type: "b", Effect: "b", Op: "b", Status: "b", State: "a"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a-000", Pod: "a"},
		{T: 2e6, Kind: "x", Zone: "a", Node: "a.000"}, // bytewise: - before .
	}
	for i := range lines {
		for j := range lines {
			require.Equal(t, i < j, Compare(lines[i], lines[j]) < 0, "%d and %d", i, j)
		}
	}
	shuffled := slices.Clone(lines)
	rand.New(rand.NewSource(1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	slices.SortFunc(shuffled, Compare)
	require.Equal(t, lines, shuffled)
}

func TestParseFaults(t *testing.T) {
	for text, want := range map[string]string{
		``:                                  "unexpected end of JSON input",
		`{}`:                                "t is missing",
		`{"t":"1"}`:                         "t: json: cannot unmarshal string into Go value of type float64",
		`{"t":-1,"kind":"evict"}`:           "t: -1 is not a time",
		`{"t":1e300,"kind":"evict"}`:        "t: 1e+300 is not a time",
		`{"t":1}`:                           "kind is missing",
		`{"t":1,"kind":"evict","node":"a"}`: "pod is missing",
		`{"t":1,"kind":"evict","node":"a","pod":null}`:                                   "pod is missing",
		`{"t":1,"kind":"evict","node":"a","pod":1}`:                                      "pod: json: cannot unmarshal number into Go value of type string",
		`{"t":1,"kind":"zone","zone":"z","state":"s","rate":1,"ready":1.5,"notReady":1}`: "ready: json: cannot unmarshal number 1.5 into Go value of type int",
		`{"t":1,"kind":"cluster","state":"Normal"} {}`:                                   "invalid character '{' after top-level value",
	} {
		_, err := Parse([]byte(text))
		require.EqualError(t, err, want, "%s", text)
	}
}

// FuzzParse: a line that parses prints as a line that parses to the same.
func FuzzParse(f *testing.F) {
	for _, sample := range samples {
		f.Add([]byte(sample.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		line, err := Parse(text)
		if err != nil {
			return
		}
		printed := line.AppendJSON(nil)
		again, err := Parse(printed)
		require.NoError(t, err, "%s", printed)
		require.Equal(t, string(printed), string(again.AppendJSON(nil)))
		require.Zero(t, Compare(line, again))
	})
}

// Unknown fields and kinds are kept.
func TestParseKeepsWhatItDoesNotKnow(t *testing.T) {
	for text, printed := range map[string]string{
		`{"t":1,"kind":"evict","node":"a","pod":"x","zone":"z","op":[ 1 ]}`: `{"t":1.000,"kind":"evict","node":"a","pod":"x","op":[1],"zone":"z"}`,
		`{"b":{"c": 1},"t":1,"kind":"evicted","a":"x"}`:                     `{"t":1.000,"kind":"evicted","a":"x","b":{"c":1}}`,
	} {
		line, err := Parse([]byte(text))
		require.NoError(t, err)
		require.Equal(t, printed, string(line.AppendJSON(nil)))
	}
}

func TestFields(t *testing.T) {
	require.Equal(t, `,"b":["x","y"],"d":1.500,"f":0.1,"n":3,"s":"\"","y":true`, Fields{
		"s": `"`, "b": []string{"x", "y"}, "n": 3, "f": 0.1, "d": 1500 * time.Millisecond, "y": true, "empty": "", "none": []string{},
	}.String())
	first := Line{Kind: KindSettings, More: Fields{"heartbeatInterval": 10 * time.Second, "spread": "even"}.String()}
	text := first.AppendJSON(nil)
	require.Contains(t, string(text), `{"t":0.000,"kind":"settings","heartbeatInterval":10.000,`)
	again, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Negative(t, Compare(first, Line{Kind: KindCancel}))
	require.Positive(t, Compare(Line{Kind: KindZone}, first))
}
