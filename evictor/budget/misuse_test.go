package budget

import (
	"fmt"
	"math"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	made := func(change func(*Config[string, thing])) func() error {
		return func() error {
			c := things(Bound{Name: "ok", Of: Bad, Max: Count(1)})
			change(&c)
			return misuse.Said(New(c))
		}
	}
	// bound changes a bound that is valid, trial one that is a trial.
	bound := func(change func(*Bound)) func() error {
		return made(func(c *Config[string, thing]) { change(&c.Bounds[0]) })
	}
	trial := func(change func(*Bound)) func() error {
		return made(func(c *Config[string, thing]) {
			c.Bounds[0] = Bound{Name: "t", Of: Unproven, Max: Count(1), Within: 1, Quiet: 1, Unjudged: Proved}
			change(&c.Bounds[0])
		})
	}
	const limits = "a count must not be negative, a percentage must lie between 0 and 100"
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"a zero Config", func() error { return misuse.Said(New(Config[string, thing]{})) },
			"budget: bounds: Required value: without one, and without Config.Actionable, everything is allowed"},
		{"a nil pointer as the clock", made(func(c *Config[string, thing]) {
			var noClock *clocktesting.FakeClock
			c.Clock = noClock
		}), `clock: Invalid value: "*testing.FakeClock(nil)": must not be nil within an interface; leave it out`},
		{"a bound on bad members, and nothing that says who is bad", made(func(c *Config[string, thing]) { c.Bad = nil }),
			`bounds[0].of: Invalid value: "Bad": counts nobody unless Config.Bad says who is bad`},
		{"a dimension without a name and a function", made(func(c *Config[string, thing]) {
			c.Dimensions = map[string]func(thing) (string, bool){"": nil}
		}), "[dimensions[]: Required value: a dimension needs a name, dimensions[]: Required value"},
		{"too many dimensions and bounds", made(func(c *Config[string, thing]) {
			c.Dimensions, c.Bounds = map[string]func(thing) (string, bool){}, nil
			for i := range 17 {
				c.Dimensions[fmt.Sprint(i)] = dimensions["pool"]
			}
			for i := range 65 {
				c.Bounds = append(c.Bounds, Bound{Name: fmt.Sprint(i), Of: Bad, Max: Count(1)})
			}
		}), "budget: [dimensions: Too many: 17: must have at most 16 items, bounds: Too many: 65: must have at most 64 items]"},
		{"two faults of two bounds", made(func(c *Config[string, thing]) {
			c.Bounds[0].Quiet = -1
			c.Bounds = append(c.Bounds, Bound{Of: Bad})
		}), `[bounds[0].quiet: Invalid value: "-1ns": must not be negative, bounds[1].name: Required value, bounds[1].max: Invalid value: "": max or min must be set]`},
		{"a bound without a name", bound(func(b *Bound) { b.Name = "" }), "bounds[0].name: Required value"},
		{"two bounds of one name", made(func(c *Config[string, thing]) { c.Bounds = append(c.Bounds, c.Bounds[0]) }),
			`bounds[1].name: Duplicate value: "ok"`},
		{"a group of a dimension that is not there", bound(func(b *Bound) { b.Per = "rack" }), `bounds[0].per: Not found: "rack"`},
		{"an exception of a dimension that is not there", bound(func(b *Bound) { b.Without = "rack" }), `bounds[0].without: Not found: "rack"`},
		{"a negative count", bound(func(b *Bound) { b.Max = Count(-1) }), `bounds[0].max: Invalid value: "-1": ` + limits},
		{"more than all", bound(func(b *Bound) { b.Max = Percent(101).Up() }), `bounds[0].max: Invalid value: "101% rounded up": ` + limits},
		{"a percentage that is no number", bound(func(b *Bound) { b.Max = Percent(math.NaN()) }), `bounds[0].max: Invalid value: "NaN% rounded down": ` + limits},
		{"neither max nor min", bound(func(b *Bound) { b.Max = Limit{} }), `bounds[0].max: Invalid value: "": max or min must be set`},
		{"nothing that is counted", bound(func(b *Bound) { b.Of = 0 }),
			`bounds[0].of: Invalid value: "": must be Bad, Unavailable, Healthy, Acting, Recent or Unproven`},
		{"a quantity that is none", bound(func(b *Bound) { b.Of = 9 }), `bounds[0].of: Invalid value: "Quantity(9)": must be Bad`},
		{"lately, and not since when", bound(func(b *Bound) { b.Of = Recent }),
			`bounds[0].within: Invalid value: "0s": must be greater than 0 with Recent and Unproven, and not be set else`},
		{"since when, and not lately", bound(func(b *Bound) { b.Within = time.Hour }), `bounds[0].within: Invalid value: "1h0m0s": must be greater than 0 with Recent`},
		{"at least so many acted on", bound(func(b *Bound) { b.Of, b.Min = Acting, Count(1) }),
			`bounds[0].min: Invalid value: "1": goes with Bad, Unavailable and Healthy`},
		{"a breaker of actions", bound(func(b *Bound) { b.Of, b.Quiet = Acting, time.Second }),
			`bounds[0].quiet: Invalid value: "1s": goes with Bad, Unavailable, Healthy and Unproven`},
		{"a breaker with two limits", bound(func(b *Bound) { b.Min, b.Quiet = Count(0), time.Second }),
			`bounds[0].quiet: Invalid value: "1s": goes with one of max and min`},
		{"what goes with trials on another bound", bound(func(b *Bound) { b.Unjudged, b.Cooldown = Proved, 1 }),
			`[bounds[0].unjudged: Invalid value: 1: must be Proved, Failed or Inconclusive with Unproven, and not be set else, bounds[0].cooldown: Invalid value: "1ns": must not be negative, and goes with Unproven]`},
		{"a trial of at least so many", trial(func(b *Bound) { b.Min = Count(1) }),
			`bounds[0].min: Invalid value: "1": goes with Bad, Unavailable and Healthy`},
		{"a trial without a limit and a time", trial(func(b *Bound) { b.Max, b.Within = Limit{}, 0 }),
			`[bounds[0].max: Invalid value: "": max or min must be set, bounds[0].within: Invalid value: "0s": must be greater than 0 with Recent and Unproven, and not be set else]`},
		{"a trial that forgets nothing", trial(func(b *Bound) { b.Quiet = 0 }), `bounds[0].quiet: Invalid value: "0s": must be greater than 0 with Unproven`},
		{"a trial that nobody may leave unjudged", trial(func(b *Bound) { b.Unjudged = 0 }),
			"bounds[0].unjudged: Invalid value: 0: must be Proved, Failed or Inconclusive with Unproven, and not be set else"},
		{"an outcome that is none", trial(func(b *Bound) { b.Unjudged = 4 }), "bounds[0].unjudged: Invalid value: 4: must be Proved"},
		{"a cooldown that grows from nothing", trial(func(b *Bound) { b.MaxCooldown = 1 }),
			`bounds[0].maxCooldown: Invalid value: "1ns": must not be negative, and goes with cooldown`},
		{"a negative cooldown", trial(func(b *Bound) { b.Cooldown = -1 }), `bounds[0].cooldown: Invalid value: "-1ns": must not be negative, and goes with Unproven`},

		{"Reserve before Set", func() error {
			return misuse.Said(fleet(t, 0, 0, Bound{Name: "b", Of: Bad, Max: Count(1)}).Reserve("0"))
		},
			"budget: no such member: Set it first"},
		{"Reserve twice", func() error {
			b := fleet(t, 1, 0, Bound{Name: "b", Of: Bad, Max: Count(1)})
			if _, err := b.Reserve("0"); err != nil {
				return err
			}
			return misuse.Said(b.Reserve("0"))
		}, "budget: the member is reserved or acted on already"},
		{"Reserve of somebody who must not be touched", func() error {
			b := fleet(t, 0, 0, Bound{Name: "b", Of: Bad, Max: Count(1)})
			b.Set("0", thing{})
			return misuse.Said(b.Reserve("0"))
		}, "budget: Config.Actionable says that the member is not to be acted on"},
		{"a fifth as 0.2 and not as 20", func() error {
			return misuse.Said(fleet(t, 5, 1, Bound{Name: "a fifth", Of: Acting, Max: Percent(0.2)}).Reserve("0"))
		}, `budget "a fifth" allows at most 0: 1 is too many`},
		{"Restore after the first Set", func() error {
			b := fleet(t, 1, 0, Bound{Name: "b", Of: Bad, Max: Count(1)})
			return b.Restore(b.Snapshot())
		}, "budget: cannot restore into a budget that is in use: call Restore before the first Set"},
		{"a zero Budget", misuse.Panic(func() { new(Budget[string, thing]).Set("0", thing{}) }),
			"panic: budget: a zero Budget was used: make one with New"},
		{"a zero Budget under a name", misuse.Panic(func() { new(Budget[string, thing]).As("evictor") }),
			"panic: budget: a zero Budget was used: make one with New"},
	})
}
