// Command heartbeats answers: which of 10,000 devices have fallen silent, and what if the listener itself was down?
//
// No device counts as silent for the time in which the listener was down, because a snapshot holds ages.
//
// It plays 22 minutes in virtual time. Your program would call Beat when a message arrives, and wait until Next.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/health"
)

const (
	devices = 10_000
	every   = 30 * time.Second // a device sends a message this often
	grace   = 90 * time.Second // and may be silent for that long
)

func main() {
	if err := play(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "heartbeats:", err)
		os.Exit(1)
	}
}

// listener is the program that listens. A snapshot holds all of its state.
type listener struct {
	clock *testingclock.FakePassiveClock
	beats *health.Deadlines[int]
	out   io.Writer
}

func listen(clock *testingclock.FakePassiveClock, out io.Writer) (*listener, error) {
	beats, err := health.NewDeadlines[int](health.DeadlinesConfig{Grace: grace, Clock: clock})
	return &listener{clock: clock, beats: beats, out: out}, err
}

// beat is called for each message.
func (l *listener) beat(device int) {
	if was := l.beats.Beat(device); was.HandedOut {
		fmt.Fprintf(l.out, "%s device %d is back\n", l.clock.Now().Format(time.TimeOnly), device)
	}
}

// look prints the devices that have fallen silent since the last look.
func (l *listener) look() {
	silent, first := 0, devices
	for device := range l.beats.Expired() {
		silent, first = silent+1, min(first, device)
	}
	if silent > 0 {
		fmt.Fprintf(l.out, "%s %d silent, the first is device %d\n", l.clock.Now().Format(time.TimeOnly), silent, first)
	}
}

// hear plays a stretch of time. Devices that talk send their messages spread evenly, and listener looks whenever one
// may have fallen silent.
func (l *listener) hear(d time.Duration, talks func(device int) bool) {
	for end := l.clock.Now().Add(d); l.clock.Now().Before(end); l.clock.SetTime(l.clock.Now().Add(time.Second)) {
		second := int(l.clock.Now().Unix()) % int(every.Seconds())
		for device := second; device < devices; device += int(every.Seconds()) {
			if talks(device) {
				l.beat(device)
			}
		}
		if next, ok := l.beats.Next(); ok && !next.After(l.clock.Now()) {
			l.look()
		}
	}
}

func play(out io.Writer) error {
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	l, err := listen(clock, out)
	if err != nil {
		return err
	}
	l.hear(5*time.Minute, func(int) bool { return true })
	broken := func(device int) bool { return device%1000 != 7 } // ten of them
	l.hear(time.Minute, broken)

	saved, err := json.Marshal(l.beats.Snapshot())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s stopped; %d devices saved\n", clock.Now().Format(time.TimeOnly), l.beats.Len())
	clock.SetTime(clock.Now().Add(10 * time.Minute))
	if l, err = listen(clock, out); err != nil {
		return err
	}
	var snapshot []health.Status[int]
	if err := json.Unmarshal(saved, &snapshot); err != nil {
		return err
	}
	if err := l.beats.Restore(snapshot); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s started again\n", clock.Now().Format(time.TimeOnly))
	l.hear(5*time.Minute, broken)
	l.hear(time.Minute, func(device int) bool { return broken(device) || device == 7 })
	return nil
}
