package health

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// device beats every ten seconds from its first second on, if it lives and the link is up.
type device struct {
	name string
	dies int // at that second; 0 never
}

// linked plays devices whose link is up or not in each second, and returns who was found silent, and when.
func linked(t *testing.T, grace time.Duration, seconds int, up func(second int) bool, lost, back func(*Deadlines[string]), devices ...device) (found []string) {
	d, clk := deadlines(t, grace)
	for second := range seconds {
		clk.SetTime(at(float64(second)))
		switch is, was := up(second), second == 0 || up(second-1); {
		case was && !is:
			lost(d)
		case is && !was:
			back(d)
		}
		for i, device := range devices {
			if up(second) && second%10 == i%10 && (device.dies == 0 || second < device.dies) {
				d.Beat(device.name)
			}
		}
		for name := range d.Expired() {
			found = append(found, fmt.Sprint(second, " ", name))
		}
	}
	return found
}

func nothing(*Deadlines[string]) {}

// However long the broker is away, no device that lives is found silent, and one that has died is found after its grace.
func TestNobodyFallsSilentWhileTheLinkIsDown(t *testing.T) {
	devices := []device{{"dead", 95}}
	for i := range 5000 {
		devices = append(devices, device{name: fmt.Sprint("device-", i)})
	}
	for _, away := range []int{50, 600} {
		up := func(second int) bool { return second < 100 || second >= 100+away }
		found := linked(t, 40*time.Second, 200+away, up, (*Deadlines[string]).Pause, (*Deadlines[string]).Resume, devices...)
		require.Equal(t, []string{fmt.Sprint(130+away, " dead")}, found, "it was heard at 90")
		require.Greater(t, len(linked(t, 40*time.Second, 200+away, up, nothing, nothing, devices...)), 5000)
	}
}

// A link that is down for five seconds in fifty hides no dead device: what was heard counts on. With Restart it would.
func TestALinkThatFlapsHidesNobody(t *testing.T) {
	flaps := func(second int) bool { return second%50 < 45 }
	devices := []device{{"dead", 1}, {"alive", 0}}
	pause, resume := (*Deadlines[string]).Pause, (*Deadlines[string]).Resume
	require.Equal(t, []string{"65 dead"}, linked(t, time.Minute, 3600, flaps, pause, resume, devices...))
	require.Empty(t, linked(t, time.Minute, 3600, flaps, nothing, (*Deadlines[string]).Restart, devices...))
}

func TestPause(t *testing.T) {
	d, clk := deadlines(t, 40*time.Second)
	d.Track("late", at(-40))
	d.Track("a", at(-30))
	d.Pause()
	d.Pause()
	clk.SetTime(at(100))
	require.Equal(t, 30*time.Second, d.Get("a").Silent)
	require.Empty(t, slices.Collect(d.Expired()), "nobody knows whether it is late by now")
	_, some := d.Next()
	require.False(t, some)
	d.Beat("b")
	d.Track("created", at(90))
	require.Equal(t, 10*time.Second, d.Get("created").Silent)
	d.Resume()
	d.Resume()
	require.Equal(t, []string{"late"}, slices.Collect(d.Expired()))
	next, _ := d.Next()
	require.Equal(t, at(105), next)
	for second := 105.0; second < 140; second += 5 {
		clk.SetTime(at(second))
		require.Equal(t, second == 110, slices.Contains(slices.Collect(d.Expired()), "a"))
	}
	require.Equal(t, 35*time.Second, d.Get("b").Silent, "it was heard during the pause")

	d.Track("c", at(80))
	d.Track("d", at(80))
	yielded := 0
	for range d.Expired() {
		yielded++
		d.Pause()
	}
	require.Equal(t, 1, yielded, "a loop ends that pauses")
}
