// Command drain answers: how do I empty GPU hosts for an update, rack by rack, without taking away more of the capacity
// than allowed, and with notice to their users?
//
// A paced queue for each rack says which host is next. A budget over racks and over all GPUs says whether it may go now. A timed
// worker says when its jobs must be gone: its work is due when the notice ends. The program plays all of it in
// virtual time.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/time/rate"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/timedworker"
)

const (
	notice = 10 * time.Minute // for the jobs of a host
	update = 5 * time.Minute  // to update an empty host
)

type host struct {
	rack string
	gpus int64
}

// drain is the program. It only prints what it does to a host; yours would cordon, evict and update.
type drain struct {
	clock *testingclock.FakeClock
	out   io.Writer
	may   *budget.Budget[string, host]
	queue *ratelimitqueue.Group[string, string, host]
	work  *timedworker.Set[string, func()] // by host: its next step, when it is due
}

func main() {
	if err := play(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "drain:", err)
		os.Exit(1)
	}
}

func newDrain(clock *testingclock.FakeClock, out io.Writer) (d *drain, err error) {
	d = &drain{clock: clock, out: out}
	d.may, err = budget.New(budget.Config[string, host]{
		Clock:      clock,
		Dimensions: map[string]func(host) (string, bool){"rack": func(h host) (string, bool) { return h.rack, true }},
		Weight:     func(h host) int64 { return h.gpus },
		Bounds: []budget.Bound{
			{Name: "half of a rack", Per: "rack", Of: budget.Acting, Max: budget.Percent(50)},
			{Name: "a quarter of all GPUs", Of: budget.Acting, Max: budget.Percent(25)},
		},
	})
	if err != nil {
		return nil, err
	}
	// At most one host of a rack per minute.
	d.queue, err = ratelimitqueue.NewGroup[string, string, host](ratelimitqueue.GroupConfig[string, string]{
		Config: ratelimitqueue.Config{Clock: clock, Rate: rate.Every(time.Minute)},
	})
	if err != nil {
		return nil, err
	}
	d.work, err = timedworker.New(func(_ context.Context, w timedworker.Work[string, func()]) timedworker.Result {
		w.Value()
		return timedworker.Forget()
	}, timedworker.Config{Clock: clock})
	return d, err
}

func (d *drain) say(host, what string) {
	fmt.Fprintf(d.out, "%s %s %s\n", d.clock.Now().Format("15:04"), host, what)
}

// begin asks the budget about each host that the queue hands out, and about a refused one again in a minute.
func (d *drain) begin() {
	for _, item, ok := d.queue.Take(); ok; _, item, ok = d.queue.Take() {
		reservation, err := d.may.Reserve(item.Key)
		if err != nil { // a *budget.Refusal, which names the bound
			item.Blocked(time.Minute)
			continue
		}
		item.Forget()
		reservation.Commit()
		d.say(item.Key, "cordoned; its jobs have ten minutes")
		d.work.Schedule(item.Key, func() {
			d.say(item.Key, "empty; updating")
			d.work.Schedule(item.Key, func() { d.say(item.Key, "is back"); d.may.End(item.Key) }, d.clock.Now().Add(update))
		}, d.clock.Now().Add(notice))
	}
}

func play(out io.Writer) error {
	d, err := newDrain(testingclock.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)), out)
	if err != nil {
		return err
	}
	for _, rack := range []string{"r1", "r2"} {
		for i := range 4 {
			name, h := fmt.Sprintf("%s-gpu%d", rack, i), host{rack: rack, gpus: 8}
			d.may.Set(name, h)
			d.queue.Add(rack, name, h)
		}
	}
	for {
		if _, err := d.work.Step(context.Background()); err != nil {
			return err
		}
		d.begin()
		next, ok := d.work.Next()
		other, too := d.queue.Next()
		if !ok && !too {
			return nil
		}
		if too && (!ok || other.Before(next)) {
			next = other
		}
		d.clock.SetTime(next)
	}
}
