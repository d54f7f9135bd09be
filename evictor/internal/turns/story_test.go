package turns

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/zone"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

// step is what happens at a second: a word, and nodes or what else it is about. A node is in the domain of its first letter until
// it is moved. What is answered is compared with the rest.
type step struct {
	at   float64
	do   string
	want string
}

// stage plays steps.
type stage struct {
	*testing.T
	*Turns
	domains map[string]string
	told    []string // by Config.Prefer and OnPanic
}

func domain(name string) zone.Key { return zone.Key{Zone: name} }

func newStage(t *testing.T, c Config) *stage {
	s := &stage{T: t, domains: map[string]string{}}
	if c.Rate == 0 {
		c.Rate = 0.1
	}
	c.OnPanic = func(_, value any, _ []byte) { s.told = append(s.told, fmt.Sprint(value)) }
	var err error
	s.Turns, err = New(c, epoch)
	require.NoError(t, err)
	return s
}

func (s *stage) domain(node string) zone.Key {
	if moved, ok := s.domains[node]; ok {
		return domain(moved)
	}
	return domain(node[:1])
}

func (s *stage) play(steps []step) {
	s.Helper()
	for _, step := range steps {
		word, rest, _ := strings.Cut(step.do, " ")
		require.Equal(s, step.want, s.do(at(step.at), word, strings.Fields(rest)), "%v: %s", step.at, step.do)
		s.invariants(at(step.at))
	}
}

func (s *stage) do(now time.Time, word string, args []string) string {
	each := func(act func(node string) bool) string {
		var said []string
		for _, node := range args {
			if act(node) {
				said = append(said, node)
			}
		}
		return strings.Join(said, " ")
	}
	quietly := func(act func(node string)) string {
		return each(func(node string) bool { act(node); return false })
	}
	switch word {
	case "wait":
		return each(func(n string) bool { return s.Wait(n, "uid of "+n, s.domain(n), now) })
	case "waits":
		return each(s.Waits)
	case "leave":
		return each(s.Leave)
	case "forget":
		return quietly(s.Forget)
	case "overdue":
		return quietly(s.Overdue)
	case "overdue?":
		return strings.Join(s.AllOverdue(), " ")
	case "release":
		return quietly(func(n string) { s.WaitToRelease(n, "", s.domain(n), now) })
	case "unrelease":
		return quietly(s.LeaveRelease)
	case "not-overdue":
		return quietly(s.NotOverdue)
	case "failed":
		return quietly(func(n string) { s.Count(n, true) })
	case "well":
		return quietly(func(n string) { s.Count(n, false) })
	case "served":
		return quietly(func(n string) { s.Of(n).Served() })
	case "again":
		return quietly(func(n string) { s.Of(n).Again(now) })
	case "drop":
		return quietly(func(n string) { s.Of(n).Drop() })
	case "later": // by 5 seconds
		return quietly(func(n string) { s.Of(n).Later(5*time.Second, now) })
	case "move":
		s.domains[args[0]] = args[1]
		s.Move(args[0], domain(args[1]))
	case "rate":
		rate, err := strconv.ParseFloat(args[1], 64)
		require.NoError(s, err)
		s.SetRate(domain(args[0]), rate, now)
	case "retire":
		return quietly(func(d string) { s.Retire(domain(d)) })
	case "pause":
		s.Pause(now)
	case "resume":
		s.Resume(now)
	case "pause-domain":
		s.PauseDomain(domain(args[0]), true, now)
	case "resume-domain":
		s.PauseDomain(domain(args[0]), false, now)
	case "any-waits":
		return strconv.FormatBool(s.AnyWaits(domain(args[0])))
	case "limit":
		n, err := strconv.Atoi(args[0])
		require.NoError(s, err)
		s.Limit(n)
	case "take": // all there is; a release has a dash
		var names []string
		for turn, ok := s.Take(now); ok; turn, ok = s.Take(now) {
			if names = append(names, turn.Node); turn.Release {
				names[len(names)-1] += "-"
			}
		}
		return strings.Join(names, " ")
	case "next":
		if next, ok := s.Next(now); ok {
			return strconv.FormatFloat(next.Sub(epoch).Seconds(), 'g', -1, 64)
		}
		return "never"
	case "waiting": // and when, by the pace of their domains alone
		var list []string
		for _, w := range s.Waiting(now) {
			turn := "never"
			if !w.Turn.IsZero() {
				turn = strconv.FormatFloat(w.Turn.Sub(epoch).Seconds(), 'g', -1, 64)
			}
			list = append(list, fmt.Sprintf("%s/%s@%s", w.Zone.Zone, w.Node, turn))
		}
		return strings.Join(list, " ")
	default:
		s.Fatalf("no such word: %s", word)
	}
	return ""
}

// invariants: who has a turn is in the queue's hands, and counts once.
func (s *stage) invariants(now time.Time) {
	require.Equal(s, len(s.taken), s.group.Stats().InFlight)
	for node, turn := range s.taken {
		require.Equal(s, node, turn.Node)
		require.NotContains(s, s.counted, node)
	}
	if s.maxActed == 0 {
		require.Empty(s, s.counted)
	}
	all, first := s.Waiting(now), time.Time{}
	for i := range all {
		if since := all[i].Since; i == 0 || since.Before(first) {
			first = since
		}
	}
	waiting, since := s.Backlog()
	require.Equal(s, len(all), waiting)
	require.True(s, since.Equal(first), "%s, but the one that waits longest does since %s", since, first)
}

func TestStories(t *testing.T) {
	for name, row := range map[string]struct {
		config Config
		steps  []step
	}{
		"each domain has its pace, and who waits longest comes first": {Config{}, []step{
			{0, "wait b1 a2 a1 b2", "b1 a2 a1 b2"},
			{0, "wait a1", ""},
			{0, "take", "a2 b1"}, // domains in the order of their keys
			{0, "next", "10"},
			{1, "wait b0 a0", "b0 a0"},
			{1, "waiting", "a/a1@10 a/a0@20 b/b2@10 b/b0@20"},
			{2, "leave b0 a0 a3", "b0 a0"},
			{9.9, "take", ""},
			{10, "waiting", "a/a1@10 b/b2@10"},
			{10, "rate b 0", ""},
			{10, "take", "a1"},
			{10, "next", "never"},
			{10, "waiting", "b/b2@never"},
			{11, "wait c1 a1", "c1"}, // a1 has its turn
			{11, "waiting", "b/b2@never c/c1@11"},
			{11, "leave c1", "c1"},
			{15, "rate b 0.1", ""}, // begins without a token
			{15, "next", "25"},
			{25, "take", "b2"},
		}},
		"a turn ends well, and there is another one when its taint is taken off": {Config{}, []step{
			{0, "wait a1", "a1"},
			{0, "take", "a1"},
			{0, "wait a1", ""},
			{1, "served a1", ""},
			{2, "waits a1", ""},
			{2, "wait a1", "a1"}, // its owner knows that it may
			{2, "take", ""},      // it costs a token
			{10, "take", "a1"},
			{10, "served a1", ""},
			{10, "leave a1", ""}, // it did not wait
			{10, "wait a1", "a1"},
		}},
		"a turn of which nothing came costs its token all the same": {Config{}, []step{
			{0, "wait a1 a2", "a1 a2"},
			{0, "take", "a1"},
			{1, "again a1", ""},
			{1, "waits a1", "a1"},
			{10, "take", "a2"},
			{20, "take", "a1"},
			{20, "drop a1", ""},
			{30, "take", ""},
		}},
		"who leaves during his turn has it to the end, and no other before that": {Config{}, []step{
			{0, "wait a1", "a1"},
			{0, "take", "a1"},
			{1, "leave a1", ""},
			{2, "wait a1", "a1"},
			{10, "take", ""},
			{11, "again a1", ""},
			{11, "take", "a1"},
		}},
		"a node that goes leaves its name free, and its turn": {Config{MaxActed: 1}, []step{
			{0, "limit 1", ""},
			{0, "wait a1 b1", "a1 b1"},
			{0, "take", "a1"},
			{0, "overdue a1", ""},
			{0, "forget a1", ""},
			{0, "overdue?", ""},
			{0, "take", "b1"},
			{0, "wait a1", "a1"},
			{10, "served b1", ""},
			{10, "forget b1", ""},
			{10, "take", "a1"},
		}},
		"a pause saves no tokens up": {Config{}, []step{
			{0, "wait a1 a2", "a1 a2"},
			{0, "take", "a1"},
			{4, "pause", ""},
			{4, "next", "never"},
			{4, "waiting", "a/a2@never"},
			{5, "wait b1 b2", "b1 b2"},
			{60, "take", ""},
			{100, "resume", ""},
			{100, "take", "b1"}, // a domain begins with one
			{100, "next", "106"},
			{106, "take", "a2"},
			{110, "take", "b2"},
		}},
		"a pause of one domain stops no other": {Config{}, []step{
			{0, "any-waits a", "false"},
			{0, "wait a1 a2 b1 b2", "a1 a2 b1 b2"},
			{0, "any-waits a", "true"},
			{0, "take", "a1 b1"},
			{0, "overdue a3", ""},
			{4, "pause-domain a", ""},
			{4, "release a3", ""},
			{4, "next", "10"},
			{60, "take", "b2"},
			{60, "next", "never"},
			{100, "resume-domain a", ""},
			{100, "take", ""},
			{106, "take", "a3-"},
			{116, "take", "a2"},
			{116, "any-waits a", "false"},
		}},
		"what became overdue in a pause goes first, one by one": {Config{}, []step{
			{0, "overdue a2 a1", ""},
			{0, "wait a3", "a3"},
			{1, "overdue?", "a1 a2"},
			{1, "release a1 a2", ""},
			{1, "waiting", "a/a1@1 a/a2@11 a/a3@21"},
			{1, "take", "a1-"},
			{1, "overdue?", "a2"},
			{2, "unrelease a2", ""}, // every zone was down: it is still overdue
			{2, "overdue?", "a2"},
			{11, "take", "a3"},
			{11, "release a2", ""},
			{12, "not-overdue a2", ""},
			{12, "overdue?", ""},
			{30, "take", ""},
		}},
		"a cap on failed nodes is a bound for those that are to fail": {Config{MaxActed: 2}, []step{
			{0, "failed c1", ""}, // it was there before us
			{0, "wait a1 b1 a2", "a1 b1 a2"},
			{0, "take", "a1"},
			{0, "next", "never"},
			{1, "failed a1", ""}, // it carries its taint now: it counts once
			{2, "served a1", ""},
			{3, "well c1", ""},
			{3, "take", "b1"},
			{4, "drop b1", ""}, // b1 was not acted on
			{5, "failed c2", ""},
			{20, "take", ""},
			{20, "overdue a1", ""},
			{20, "release a1", ""},
			{20, "next", "20"},
			{20, "take", "a1-"}, // it fails no other node
			{21, "well a1", ""},
			{30, "take", "a2"},
		}},
		"more have failed than may": {Config{MaxActed: 1}, []step{
			{0, "failed c1 c2", ""}, // the cap was another before a restart
			{0, "wait a1", "a1"},
			{0, "take", ""},
			{0, "well c1", ""},
			{0, "take", ""},
			{0, "well c2", ""},
			{0, "take", "a1"},
			{1, "served a1", ""}, // it counts, seen or not
			{1, "wait b1", "b1"},
			{30, "take", ""},
		}},
		"what fails apart from its turn counts after it too": {Config{MaxActed: 1}, []step{
			{0, "wait a1 b1", "a1 b1"},
			{0, "take", "a1"},
			{1, "failed a1", ""},
			{2, "again a1", ""}, // its write seemed to fail, and was done
			{20, "take", ""},
			{20, "well a1", ""},
			{20, "leave a1", "a1"},
			{20, "take", "b1"},
			{21, "failed b1", ""},
			{21, "drop b1", ""},
			{21, "wait a1", "a1"},
			{31, "take", ""},
			{31, "well b1", ""},
			{31, "take", "a1"},
			{32, "failed a1", ""},
			{32, "later a1", ""},
			{42, "take", ""},
			{42, "well a1", ""},
			{42, "take", "a1"},
		}},
		"a node that counts is none the less not wanted": {Config{MaxActed: 2}, []step{
			{0, "wait a1 b1 c1", "a1 b1 c1"},
			{0, "failed a1", ""},
			{0, "take", "a1 b1"},
			{0, "drop a1", ""},
			{0, "take", ""},
			{0, "well a1", ""},
			{0, "take", "c1"},
		}},
		"under a cap domains take turns": {Config{Rate: 10, MaxRate: 0.5}, []step{
			{0, "wait a1 a2 a3 b1 b2", "a1 a2 a3 b1 b2"},
			{0, "take", "a1"},
			{0, "next", "2"},
			{2, "take", "b1"},
			{4, "take", "a2"},
			{6, "take", "b2"},
			{8, "take", "a3"},
		}},
		"who may not be acted on costs nothing": {Config{MaxRate: 0.05}, []step{
			{0, "wait a1 a2 b1", "a1 a2 b1"},
			{0, "take", "a1"},
			{0, "later a1", ""},
			{0, "take", "b1"},
			{0, "later b1", ""},
			{0, "take", "a2"},
			{0, "next", "20"},
			{20, "take", "b1"}, // its domain's turn is longest ago
			{40, "take", "a1"},
		}},
		"while nobody can act there is no turn": {Config{}, []step{
			{0, "limit 1", ""},
			{0, "wait a1 b1", "a1 b1"},
			{0, "take", "a1"},
			{0, "release b2", ""},
			{0, "next", "never"},
			{5, "served a1", ""},
			{5, "next", "5"},
			{5, "take", "b2-"},
			{15, "take", "b1"},
			{15, "limit 0", ""},
			{15, "wait a2", "a2"},
			{15, "take", "a2"},
		}},
		"a node takes its place along": {Config{}, []step{
			{0, "rate a 0", ""},
			{0, "wait a1", "a1"},
			{1, "wait b1 b2", "b1 b2"},
			{1, "release a1", ""},
			{1, "move a1 b", ""},
			{1, "waiting", "b/a1@1 b/a1@11 b/b1@21 b/b2@31"},
			{1, "take", "a1-"},
			{11, "take", "a1"},
			{11, "move a1 c", ""}, // with its turn
			{12, "again a1", ""},
			{12, "waiting", "b/b1@21 b/b2@31 c/a1@12"},
		}},
		"a domain that was empty earns no token by coming back": {Config{}, []step{
			{0, "rate a 0.01", ""},
			{0, "wait a1 a2", "a1 a2"},
			{0, "take", "a1"},
			{0, "forget a1", ""},
			{0, "forget a2", ""},
			{0, "retire a", ""},
			{50, "wait a1", "a1"},
			{50, "next", "100"},
			{60, "rate a 0.02", ""},
			{60, "next", "110"}, // whole tokens are kept, and no fractions
			{60, "forget a1", ""},
			{60, "retire a", ""},
			{200, "wait a1 a2", "a1 a2"},
			{200, "waiting", "a/a1@200 a/a2@210"}, // it is forgotten, and begins anew
		}},
		"what is no rate stops": {Config{Rate: math.Inf(1)}, []step{
			{0, "wait a1 a2", "a1 a2"},
			{0, "next", "never"},
			{0, "rate a 0.5", ""},
			{2, "take", "a1"},
			{2, "rate a NaN", ""},
			{9, "next", "never"},
		}},
		"a cap whose token never comes": {Config{MaxRate: 1e-12}, []step{
			{0, "wait a1 b1", "a1 b1"},
			{0, "take", "a1"},
			{0, "next", "never"},
		}},
	} {
		t.Run(name, func(t *testing.T) { newStage(t, row.config).play(row.steps) })
	}
}

// Who is preferred among those that are due, releases apart, is next; nonsense and a panic leave the order as it is.
func TestPrefer(t *testing.T) {
	var s *stage
	answer := func([]string) string { return "a3" }
	s = newStage(t, Config{Prefer: func(d zone.Key, waiting []string) string {
		s.told = append(s.told, d.Zone+": "+strings.Join(waiting, " "))
		return answer(waiting)
	}})
	s.play([]step{{0, "wait a1 a2 a3 a4 a5 b1", "a1 a2 a3 a4 a5 b1"}, {0, "take", "a3 b1"}, {5, "take", ""}})
	require.Equal(t, []string{"a: a1 a2 a3 a4 a5"}, s.told, "once for a token, and not where there is no choice")
	s.play([]step{{10, "release a9", ""}, {10, "take", "a9-"}})
	require.Len(t, s.told, 1)
	s.play([]step{{20, "take", "a1"}}) // a3 has its turn
	answer = func([]string) string { panic("a bug of the program's") }
	s.play([]step{{30, "take", "a2"}})
	require.Equal(t, "a bug of the program's", s.told[len(s.told)-1])
	answer = func(waiting []string) string { return waiting[1] }
	s.play([]step{{40, "take", "a5"}, {50, "take", "a4"}})
	require.Len(t, s.told, 5)
}

// Since when a node waits is not changed by its turns, of which nothing came, or by its domain.
func TestSince(t *testing.T) {
	s := newStage(t, Config{})
	s.play([]step{{3, "wait a1", "a1"}, {4, "take", "a1"}, {5, "again a1", ""}, {6, "move a1 b", ""}})
	require.Equal(t, []Waiting{{Node: "a1", Zone: domain("b"), Since: at(3), Turn: at(7)}}, s.Waiting(at(7)))
}

// What is said of a turn that is over changes nothing.
func TestTurnEndsOnce(t *testing.T) {
	s := newStage(t, Config{MaxActed: 1})
	s.play([]step{{0, "wait a1 b1", "a1 b1"}, {0, "take", "a1"}})
	turn := s.Of("a1")
	s.play([]step{{0, "forget a1", ""}, {0, "wait a1", "a1"}, {10, "take", "b1"}, {10, "forget b1", ""}, {20, "take", "a1"}})
	turn.Served()
	turn.Later(0, at(20))
	require.NotSame(t, turn, s.Of("a1"))
	s.play([]step{{20, "waits a1", ""}, {20, "again a1", ""}, {20, "waits a1", "a1"}})
}
