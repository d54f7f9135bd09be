package twins

import (
	"slices"
	"strings"
)

// row is something that may differ. Each row must explain a difference in some scenario.
type row struct {
	name  string
	about []string // events and fields, as SCENARIO.md calls them
	why   string
	// explains says whether the row explains a difference, one of those that are left.
	explains func(s *scene, d difference, left []difference) bool
}

// mayDiffer has what upstream does otherwise for a reason.
var mayDiffer = []row{
	{
		name: "a budget without numbers", about: []string{"objects.PodDisruptionBudget"},
		why: "If the disruption controller cannot know how many pods there should be, it writes no numbers, and the refusal names none.",
		explains: func(_ *scene, d difference, left []difference) bool {
			return slices.ContainsFunc(left, func(other difference) bool {
				return other.ours != d.ours && other.at == d.at && other.pod == d.pod && strings.HasPrefix(d.what, refused) && strings.HasPrefix(other.what, refused) &&
					(d.what == refused || other.what == refused)
			})
		},
	},
}

const refused = "evicted: no"
