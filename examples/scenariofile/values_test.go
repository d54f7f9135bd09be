package scenariofile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/scenariofile"
)

func TestCommasWithinBracketsAndQuotesDoNotSplit(t *testing.T) {
	for text, want := range map[string][]string{
		".1, .5": {".1", ".5"},
		"":       {""},
		"[{at: 1m, fail: {zone: a}}],[{at: 1m, fail: {nodes: [a, b]}}]": {"[{at: 1m, fail: {zone: a}}]", "[{at: 1m, fail: {nodes: [a, b]}}]"},
		`"a,b",'c,d'`:             {`"a,b"`, `'c,d'`},
		`{k: "}\",", l: 1},x`:     {`{k: "}\",", l: 1}`, "x"},
		"zone in (a,b),zone in c": {"zone in (a,b)", "zone in c"},
		"it's,two":                {"it's", "two"},
	} {
		require.Equal(t, want, scenariofile.Set{Value: text}.Values(), text)
	}
}
