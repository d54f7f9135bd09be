package twins

import (
	"slices"
	"strings"
	"time"
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
		name: jobsCount, about: []string{"objects.Job"},
		why: "The Job controller collects what happens to pods for a second before it looks, and reads from the pods, in whole seconds, when they have failed. So its pods may come a second sooner or later, and then onto other nodes.",
		explains: func(_ *scene, d difference, left []difference) bool {
			return slices.ContainsFunc(left, func(mine difference) bool {
				return mine.ours && mine.at <= d.at+second && mine.ofJob() && mine.what == "bound" && slices.ContainsFunc(left, func(their difference) bool {
					return !their.ours && their.what == "bound" && their.pod == mine.pod && (their.at-mine.at).Abs() <= second
				})
			})
		},
	},
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

const (
	jobsCount = "Jobs count in seconds"
	second    = time.Second // by which Jobs may be off
	refused   = "evicted: no"
)

func (l line) ofJob() bool { return strings.HasPrefix(l.of, "Job/") }

// inTime says whether the two sides do the same at times that may differ.
func inTime(mine, their line) bool { return mine.ofJob() && (mine.at-their.at).Abs() <= second }
