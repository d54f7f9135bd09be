package health

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
)

// Rule asks whether a condition has had a status for a time. Two rules with the same Type and Status and different times
// are two steps: the first may warn and the second repair.
type Rule struct {
	Type v1.NodeConditionType
	// Status is True, False or Unknown. A missing condition is none of these; it is not Unknown.
	Status v1.ConditionStatus
	// For is how long the status must last. It must be positive; use a nanosecond for "at once".
	For time.Duration
}

// DurationsConfig configures Durations.
type DurationsConfig struct {
	// Rules apply to every key: at least one, and none twice.
	Rules []Rule
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// Validate reports every fault at once.
func (c DurationsConfig) Validate() error {
	var errs field.ErrorList
	rules := field.NewPath("rules")
	if len(c.Rules) == 0 {
		errs = append(errs, field.Required(rules, "without a rule nothing is watched"))
	}
	seen := map[Rule]bool{}
	for i, r := range c.Rules {
		path := rules.Index(i)
		if r.Type == "" {
			errs = append(errs, field.Required(path.Child("type"), ""))
		}
		if standingAsked(r.Status) == unseen {
			errs = append(errs, field.NotSupported(path.Child("status"), string(r.Status), standingNames()))
		}
		if r.For <= 0 {
			errs = append(errs, field.Invalid(path.Child("for"), r.For.String(), "must be greater than 0; a nanosecond is at once"))
		}
		if seen[r] {
			errs = append(errs, field.Duplicate(path, r.Type))
		}
		seen[r] = true
	}
	return errs.ToAggregate()
}

// standing is the status of a condition, as far as rules can tell statuses apart.
type standing uint8

const (
	unseen standing = iota // not observed yet
	other                  // missing, or with a status that no rule can ask for
	isTrue
	isFalse
	isUnknown
	standings
)

var standingStatus = [standings]v1.ConditionStatus{"", "", v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}

// standingAsked returns the standing of a status that a rule can ask for, and unseen for any other status.
func standingAsked(status v1.ConditionStatus) standing {
	for s := isTrue; s < standings; s++ {
		if standingStatus[s] == status {
			return s
		}
	}
	return unseen
}

// watched is a condition that some rule asks for.
type watched struct {
	kind  v1.NodeConditionType
	rules [standings][]Rule // for each status, shortest time first: the order in which they come due
}

// watchedBy returns the conditions that rules ask for, in the order in which rules first name them.
func watchedBy(rules []Rule) (all []watched) {
	for _, r := range rules {
		n := indexOf(all, r.Type)
		if n < 0 {
			n = len(all)
			all = append(all, watched{kind: r.Type})
		}
		of := &all[n].rules[standingAsked(r.Status)]
		*of = slices.Insert(*of, upTo(*of, r.For), r)
	}
	return all
}

func indexOf(all []watched, kind v1.NodeConditionType) int {
	return slices.IndexFunc(all, func(w watched) bool { return w.kind == kind })
}

// upTo returns how many of the rules, shortest first, ask for no longer than most.
func upTo(rules []Rule, most time.Duration) int {
	n := 0
	for n < len(rules) && rules[n].For <= most {
		n++
	}
	return n
}

// shown returns the standing of the condition in an object, and the transition time that the object claims. Of several
// conditions of one type the first counts.
func (w *watched) shown(conditions []v1.NodeCondition) (status standing, claim time.Time) {
	for i := range conditions {
		if c := &conditions[i]; c.Type == w.kind {
			return max(standingAsked(c.Status), other), c.LastTransitionTime.Time
		}
	}
	return other, time.Time{}
}

// standingNames returns the statuses that a rule may ask for.
func standingNames() (names []string) {
	for _, status := range standingStatus[isTrue:] {
		names = append(names, string(status))
	}
	return names
}
