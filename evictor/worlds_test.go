package evictor_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Small worlds: a dozen stories of a few nodes, and what deviates from them. Whatever may turn out in two ways is a choice
// point: each write and its answer, each question to a Gate, each reading of a lease, each half of a monitor period. All
// worlds with one deviation are played; with EVICTKIT_FULL those in the second half of a period, too, and a sample of those
// with two, mostly at points that follow each other: all pairs are 16 millions. The judge is that of the lives.
//
// No play ends because its state was seen before. The judge's memory belongs to that state, and it holds when things were:
// in 257 worlds with one deviation that would have saved less than a hundredth of the seconds that were played, even with
// all that is older than a minute forgotten, and to look at a state costs a third of a play.

// One in so many pairs of deviations is played, of those at points that follow each other and of those further apart.
const (
	worldsNext  = 4
	worldsApart = 1000
)

var worldsFull = os.Getenv("EVICTKIT_FULL") != ""

var worldsOne = flag.String("world", "", "plays one world with its log, such as \"dies 12=3 40=1\"")

// worldsStory is what happens without any deviation.
type worldsStory struct {
	name   string
	direct bool // nodes are emptied, not tainted
	events []livesEvent
}

func worldsEvent(second int, kind string, numbers ...int) livesEvent {
	numbers = append(numbers, 0, 0, 0)
	return livesEvent{at: time.Duration(second) * time.Second, kind: kind, a: numbers[0], b: numbers[1], c: numbers[2]}
}

var worldsStories = []worldsStory{
	{"dies", false, []livesEvent{worldsEvent(3, "kill", 0)}},
	{"both", false, []livesEvent{worldsEvent(3, "kill", 0), worldsEvent(8, "kill", 2)}},
	{"flaps", false, []livesEvent{worldsEvent(3, "kill", 0), worldsEvent(70, "revive", 0), worldsEvent(95, "kill", 0)}},
	{"false", false, []livesEvent{worldsEvent(50, "notready", 0), worldsEvent(120, "revive", 0)}},
	{"foreign", false, []livesEvent{worldsEvent(3, "taint", 0, 1, 4), worldsEvent(40, "untaint", 0)}},
	{"all down", false, []livesEvent{worldsEvent(3, "killall"), worldsEvent(100, "revive", 1)}},
	{"recreated", false, []livesEvent{worldsEvent(3, "kill", 0), worldsEvent(90, "replacenode", 0, 0, 1)}},
	{"direct", true, []livesEvent{worldsEvent(3, "kill", 0), worldsEvent(20, "kill", 2)}},
	{"overdue", false, []livesEvent{worldsEvent(3, "kill", 0), worldsEvent(60, "pause", 0, 0, 1), worldsEvent(150, "resume", 0, 0, 1)}},
	{"blinded", false, []livesEvent{worldsEvent(3, "kill", 0), worldsEvent(30, "blind"), worldsEvent(80, "blind")}},
	{"again", true, []livesEvent{worldsEvent(3, "kill", 0), worldsEvent(100, "revive", 0), worldsEvent(115, "kill", 0)}},
	{"swapped", false, []livesEvent{worldsEvent(3, "kill", 0), worldsEvent(80, "notready", 0), worldsEvent(110, "kill", 0)}},
}

// worldsAnswers are those of a write, but for the plain one.
var worldsAnswers = []string{"conflict", "internal", "done-internal", "forbidden", "missing", "busy-retry", "panic"}

// worldsAmid happen while a write is under way, or a question; before it takes effect or after.
var worldsAmid = []string{"revive", "kill", "replacenode", "deletenode", "replacepod", "tolerate", "taint", "strip", "blind", "pause", "lead"}

// worldsBetween happen in a half of a period.
var worldsBetween = []livesEvent{
	worldsEvent(0, "kill", 1), worldsEvent(0, "revive", 0), worldsEvent(0, "notready", 0), worldsEvent(0, "loseready", 0), worldsEvent(0, "pause", 0, 0, 1), worldsEvent(0, "resume", 0, 0, 1),
	worldsEvent(0, "lead"), worldsEvent(0, "blind"), worldsEvent(0, "restart"), worldsEvent(0, "freeze", 0, 60), worldsEvent(0, "clockback", 0, 50), worldsEvent(0, "replacenode", 0, 0, 1),
	worldsEvent(0, "deletenode", 0), worldsEvent(0, "taint", 0, 1, 4), worldsEvent(0, "untaint", 0), worldsEvent(0, "strip", 0), worldsEvent(0, "forge", 0, 1, 4), worldsEvent(0, "hold", 0), worldsEvent(0, "release", 0),
	worldsEvent(0, "replacepod", 0), worldsEvent(0, "tolerate", 0, 5), worldsEvent(0, "addpod", 0, 0, 1), worldsEvent(0, "movezone", 0, 1), worldsEvent(0, "lag", 0, 30, 0), worldsEvent(0, "lag", 0, 30, 1),
	worldsEvent(0, "back", 0, 600, 0), worldsEvent(0, "back", 0, 600, 1), worldsEvent(0, "kick"), worldsEvent(0, "setting", 0, 1), worldsEvent(0, "renew", 0), worldsEvent(0, "storepanic"),
}

// worldsPoint is a choice point that was passed.
type worldsPoint struct {
	options int  // those out of the ordinary
	second  bool // it is in the second half of a period
}

// worldsChoices are what one play takes and passes.
type worldsChoices struct {
	take   map[int]int // options by the number of their point; the first, nothing out of the ordinary, elsewhere
	points []worldsPoint
	told   []string // what deviated
}

// choose returns the option at the next choice point. Lives have none. says says what an option is.
func (w *livesWorld) choose(options int, says func(option int) string) int {
	c := w.plan.Choices
	if c == nil || w.now.Sub(livesBegin.Add(time.Hour)) >= w.plan.active() {
		return 0
	}
	c.points = append(c.points, worldsPoint{options: options})
	option := min(c.take[len(c.points)-1], options)
	if option > 0 {
		c.told = append(c.told, fmt.Sprintf("%s: %s", w.now.Sub(livesBegin.Add(time.Hour)), says(option)))
	}
	return option
}

// chooseBetween lets something happen in a half of a period, or nothing.
func (w *livesWorld) chooseBetween(second time.Duration) {
	half, c := second/time.Second%5, w.plan.Choices
	if c == nil || half != 2 && half != 4 {
		return
	}
	passed := len(c.points)
	if option := w.choose(len(worldsBetween), func(option int) string { return worldsBetween[option-1].String() }); option > 0 {
		w.logf("EVENT %s", worldsBetween[option-1])
		w.happens(worldsBetween[option-1])
	}
	if len(c.points) > passed {
		c.points[passed].second = half == 4
	}
}

// worldsAmidWords say what happens amid that.
func worldsAmidWords(option int, what string) string {
	return fmt.Sprintf("%s, %s %s", worldsAmid[option/2], []string{"before", "after"}[option%2], what)
}

// chooseAmid lets something happen amid what is under way, or nothing.
func (w *livesWorld) chooseAmid(option int, question bool) {
	event := livesEvent{kind: worldsAmid[option/2], b: 2 - option%2, c: 3, amid: true} // before it takes effect, or after
	if question {
		event.c = 0
	}
	w.amid = append(w.amid, event)
}

// chooseAnswer is what comes of a write.
func (w *livesWorld) chooseAnswer(what string) *livesFault {
	option := w.choose(len(worldsAnswers)+2*len(worldsAmid), func(option int) string {
		if option <= len(worldsAnswers) {
			return worldsAnswers[option-1] + " answers " + what
		}
		return worldsAmidWords(option-1-len(worldsAnswers), what)
	})
	switch {
	case option == 0:
		return nil
	case option <= len(worldsAnswers):
		return &livesFault{scope: livesScope(what), kind: worldsAnswers[option-1]}
	}
	w.chooseAmid(option-1-len(worldsAnswers), false)
	return nil
}

// plan is that of the story.
func (s worldsStory) plan(take map[int]int) livesPlan {
	return livesPlan{
		livesMode: livesMode{Taints: !s.direct}, Nodes: 3, Pods: 1, Zones: 2, Rate: 0.1, Events: slices.Clone(s.events),
		livesFeatures: livesFeatures{Confirms: true, May: true, Turns: true}, Choices: &worldsChoices{take: take},
	}
}

// play returns what is wrong, and the points that were passed.
func (s worldsStory) play(take map[int]int, logf func(string, ...any)) (wrong string, points []worldsPoint) {
	plan := s.plan(take)
	if judge := livesPlay(plan, logf); judge.rule != "" {
		wrong = judge.rule + ": " + judge.message
	}
	if logf == nil && wrong != "" {
		wrong += "\n" + worldsTest(worldsNamed(s.name, take), plan.Choices.told)
	}
	return wrong, plan.Choices.points
}

// worldsTest is a world as a test, with its log by -v.
func worldsTest(named string, told []string) string {
	return fmt.Sprintf(`
// The story %q, and:
//   - %s
func TestWorld(t *testing.T) {
	playNamedWorld(t, %q)
}`, strings.TrimRight(named, " =0123456789"), strings.Join(told, "\n//   - "), named)
}

// worldsNamed is how a world is written: the story, and what deviates.
func worldsNamed(story string, take map[int]int) string {
	for _, point := range slices.Sorted(maps.Keys(take)) {
		story += fmt.Sprintf(" %d=%d", point, take[point])
	}
	return story
}

// worldsPairs are some of a deviation with a later one, most of them at the next point.
func worldsPairs(random *rand.Rand, point, option int, points []worldsPoint) (pairs []map[int]int) {
	if !worldsFull || points[point].second {
		return nil
	}
	one := worldsNext
	for later := point + 1; later < len(points); later++ {
		if points[later].second {
			continue
		}
		for other := 1; other <= points[later].options; other++ {
			if random.Intn(one) == 0 {
				pairs = append(pairs, map[int]int{point: option, later: other})
			}
		}
		one = worldsApart
	}
	return pairs
}

func TestSmallWorlds(t *testing.T) {
	if *worldsOne != "" {
		playNamedWorld(t, *worldsOne)
		return
	}
	var mu sync.Mutex
	played, rules := 0, map[string]int{}
	play := func(t *testing.T, s worldsStory, take map[int]int) (points []worldsPoint) {
		wrong, points := s.play(take, nil)
		mu.Lock()
		defer mu.Unlock()
		if played++; wrong != "" {
			rule, _, _ := strings.Cut(wrong, ":")
			if rules[rule]++; rules[rule] <= 3 {
				t.Error(wrong)
			}
		}
		return points
	}
	t.Run("stories", func(t *testing.T) {
		for _, s := range worldsStories {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewSource(int64(len(s.name))))
				for point, is := range play(t, s, nil) {
					for option := 1; option <= is.options && (worldsFull || !is.second); option++ {
						after := play(t, s, map[int]int{point: option})
						for _, pair := range worldsPairs(random, point, option, after) {
							play(t, s, pair)
						}
					}
				}
			})
		}
	})
	t.Logf("%d worlds, wrong: %v", played, rules)
}

func playNamedWorld(t *testing.T, named string) {
	t.Helper()
	for _, s := range worldsStories {
		rest, is := strings.CutPrefix(named, s.name)
		if !is {
			continue
		}
		take := map[int]int{}
		for _, word := range strings.Fields(rest) {
			point, option, _ := strings.Cut(word, "=")
			p, err := strconv.Atoi(point)
			if err != nil {
				t.Fatal(err)
			}
			if take[p], err = strconv.Atoi(option); err != nil {
				t.Fatal(err)
			}
		}
		if wrong, _ := s.play(take, t.Logf); wrong != "" {
			t.Error(wrong)
		}
		return
	}
	t.Fatalf("there is no story %q", named)
}
