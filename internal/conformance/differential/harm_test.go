package differential

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/conformance/rule"
)

// harmPage counts the harm that ours does beyond upstream: for each row of DIFFERENCES.md that causes some, in how many of 300
// scenarios there is some of each kind, and who wants that row.
const harmPage = "HARM.md"

// counted is in how many scenarios a rule or a brake did harm of a kind.
type counted map[string]map[HarmKind]int

func (c counted) add(r Rule, kinds map[HarmKind]bool) {
	if c[r.Row] == nil && len(kinds) > 0 {
		c[r.Row] = map[HarmKind]int{}
	}
	for kind := range kinds {
		c[r.Row][kind]++
	}
}

// TestHarm counts it. All harm has a row, and none does more than its page allows: one or two scenarios are chance.
func TestHarm(t *testing.T) {
	const whole = 300
	n := 40
	if os.Getenv("EVICTKIT_FULL") != "" {
		n = whole
	}
	if *seeds > 0 {
		n = int(*seeds)
	}
	sums := counted{}
	var mu sync.Mutex
	each(n, func(i int) {
		by := harmBy(t, *from+uint64(i))
		mu.Lock()
		defer mu.Unlock()
		for r, kinds := range by {
			sums.add(r, kinds)
		}
	})
	allowed := readHarm(t)
	for row, kinds := range sums {
		for kind, found := range kinds {
			t.Logf("%-8s %3d of %3d, %3d allowed: %s", kind, found, n, allowed[row][kind], row)
			if most := allowed[row][kind]; found > most+2 {
				t.Errorf("in %d of %d scenarios, ours %s by %q: the page allows %d of %d", found, n, kind, row, most, whole)
			}
		}
	}
}

// harmBy plays a scenario, and again with each of the brakes.
func harmBy(t *testing.T, seed uint64) map[Rule]map[HarmKind]bool {
	by := map[Rule]map[HarmKind]bool{}
	note := func(r Rule, h Harm) {
		if by[r] == nil {
			by[r] = map[HarmKind]bool{}
		}
		by[r][h.Kind] = true
	}
	c := Mixed(seed, V137)
	path, err := c.Save(t.TempDir())
	if !assert.NoError(t, err) {
		return nil
	}
	p, _, err := oracles.check(t.Context(), c, path, V137)
	if !assert.NoError(t, err, "seed %d", seed) {
		return nil
	}
	for h, r := range Harms(p) {
		note(r, h)
		assert.NotEqual(t, Rule{}, r, "seed %d: nothing explains why ours %s %s %s at %s", seed, h.Kind, h.Node, h.Pod, h.From)
	}
	for r, brake := range Brakes {
		more, err := Braked(t.Context(), p, path, brake)
		assert.NoError(t, err, r.Name)
		for _, h := range more {
			note(r, h)
		}
	}
	return by
}

// readHarm reads the page.
func readHarm(t *testing.T) counted {
	text, err := os.ReadFile(harmPage)
	require.NoError(t, err)
	allowed, wants := counted{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 2+len(HarmKinds) || cells[0] == "row" || strings.HasPrefix(cells[0], "-") {
			continue
		}
		allowed[cells[0]], wants[cells[0]] = map[HarmKind]int{}, cells[1+len(HarmKinds)]
		for i, kind := range HarmKinds {
			allowed[cells[0]][kind], err = strconv.Atoi(cells[1+i])
			require.NoError(t, err, line)
		}
	}
	rows := append(slices.Clone(Rules), slices.Collect(maps.Keys(Brakes))...)
	require.NoError(t, rule.Check(rows))
	for row := range allowed {
		require.True(t, slices.ContainsFunc(rows, func(r Rule) bool { return r.Row == row }), "no rule is called %q", row)
		require.NotEmpty(t, wants[row], row)
	}
	return allowed
}
