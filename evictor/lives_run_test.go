//go:build go1.25

package evictor_test

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestLivesUnderRun(t *testing.T) {
	livesTestWith(t, 300, func(plan livesPlan, logf func(string, ...any)) (judge *livesJudge) {
		synctest.Test(t, func(*testing.T) { judge = livesPlayRun(plan, logf) })
		return judge
	}, livesMode{Run: true, Taints: true}, livesMode{Run: true}, livesMode{Run: true, Taints: true, Two: true}, livesMode{Run: true, Two: true})
}

// livesPlayRun plays a life under Run. Its writes take a while, side by side, and what happens happens when nobody acts
// but who waits for a write.
func livesPlayRun(plan livesPlan, logf func(string, ...any)) *livesJudge {
	w := newLivesWorld(plan, logf)
	w.real, w.slack = time.Now(), 5*time.Second
	time.Sleep(time.Hour) // the cluster is old
	w.do(w.begin)
	wrong := false
	for begin, second := time.Now(), time.Duration(0); second <= livesActive+livesQuiet && !wrong; second += time.Second {
		time.Sleep(time.Until(begin.Add(second)))
		synctest.Wait()
		w.do(func() { w.second(second) })
		synctest.Wait()
		w.do(func() {
			for _, p := range w.processes {
				if whole, is := p.evictor.(livesWhole); is && whole.Late() {
					p.mind.wrong("late", "Run sleeps although something is due")
				}
				p.mind.stepped()
			}
			wrong = w.judge.rule != ""
		})
	}
	if !wrong {
		w.do(w.processes[0].mind.ended)
	}
	for _, p := range w.processes {
		p.cancel()
		p.stop()
	}
	return w.judge
}

// do does something to the world, and then calls those that are to hear of it.
func (w *livesWorld) do(what func()) {
	w.enter()
	what()
	calls := w.calls
	w.calls = nil
	w.mu.Unlock()
	for _, call := range calls {
		call()
	}
}
