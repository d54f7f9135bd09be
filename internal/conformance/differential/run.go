package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/zone"
)

// Oracles are the programs that play scenarios with upstream's controllers.
type Oracles map[Against]string

// upstream plays the scenario file with upstream's controllers.
func (p *Played) upstream(ctx context.Context, program, path string) error {
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	args := []string{"-controllers-only", path}
	if p.Against == V137Together {
		args = append([]string{"-together"}, args...)
	}
	command := exec.CommandContext(ctx, program, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", p.Against, err, beginning(stderr.Bytes()))
	}
	if err := json.Unmarshal(stderr.Bytes(), &p.Rewrites); err != nil {
		return fmt.Errorf("%s: %w: %s", p.Against, err, beginning(stderr.Bytes()))
	}
	for text := range bytes.Lines(out) {
		l, err := timeline.Parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Against, err)
		}
		if l, ok := compared(l); ok {
			p.Upstream = append(p.Upstream, p.known.line(l))
		}
	}
	return nil
}

func beginning(text []byte) string {
	const most = 2000
	if len(text) > most {
		text = text[:most]
	}
	return string(text)
}

// ours plays the scenario file with our evictor, which prefers the order in which upstream served nodes.
func (p *Played) ours(ctx context.Context, path string) error {
	s, err := scenariofile.Load(path)
	if err != nil {
		return err
	}
	order := orderOf(s, p.Upstream, p.Against.late(&s.Config), p.known)
	p.Ours, p.Nodes = nil, nil
	played, _ := s.Simulation(ctx, nil)
	played.ControllersOnly = true
	played.Timeline = func(l timeline.Line) error {
		if l, ok := compared(l); ok {
			p.Ours = append(p.Ours, p.known.line(l))
		}
		return nil
	}
	restart := false
	_, err = simulation.Play(ctx, played, func(w *simulation.World) (simulation.Controller, error) {
		options := evictor.Options{
			Observer: evictor.Observers{w, evictor.Observe(p.observeNode, nil)},
			Prefer:   func(key zone.Key, waiting []string) string { return order.next(w, key, waiting) },
		}
		if p.brake != nil {
			if options, err = p.brake(w, options); err != nil {
				return nil, err
			}
		}
		c, err := p.compat.start(w, options, restart)
		restart = true
		return c, err
	})
	return err
}

func (p *Played) observeNode(d evictor.NodeDecision) {
	d.Node = p.known.node(d.Node, d.Time.Sub(epoch))
	p.Nodes = append(p.Nodes, d)
}

// compared reduces a line to what both sides report, without reasons and events.
func compared(l timeline.Line) (timeline.Line, bool) {
	l.More = ""
	switch l.Kind {
	case timeline.KindSettings, timeline.KindEvent, timeline.KindPending, timeline.KindHeld, timeline.KindDrain, timeline.KindRemove, timeline.KindDrainEnd, timeline.KindRollEnd:
		return l, false
	}
	return l, true
}

func ownNoExecute(l timeline.Line) bool {
	return l.Effect == string(v1.TaintEffectNoExecute) && (l.Key == v1.TaintNodeNotReady || l.Key == v1.TaintNodeUnreachable)
}

// Check plays a case on both sides and compares. It changes our inputs to what upstream makes of them, see compat, only
// if that explains more.
func (o Oracles) Check(ctx context.Context, c *Case, against Against) (p *Played, r Result, err error) {
	dir, err := os.MkdirTemp("", "differential")
	if err != nil {
		return nil, r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := c.Save(dir)
	if err != nil {
		return nil, r, err
	}
	return o.check(ctx, c, path, against)
}

// CheckFile is Check for a scenario in a file.
func (o Oracles) CheckFile(ctx context.Context, path string, against Against) (*Played, Result, error) {
	c, err := Open(path)
	if err != nil {
		return nil, Result{}, err
	}
	return o.check(ctx, c, path, against)
}

func (o Oracles) check(ctx context.Context, c *Case, path string, against Against) (p *Played, r Result, err error) {
	p = &Played{Against: against}
	p.known, p.Case = incarnationsOf(c)
	if err := p.upstream(ctx, o[against], path); err != nil {
		return p, r, err
	}
	var broken []Left
	restarts := slices.ContainsFunc(c.Scenario.Events, func(e simulation.Event) bool { return e.Restart != nil })
	for _, p.compat = range []compat{{}, {forgetLease: true}, {loseTaints: true}, {true, true}} {
		if p.compat.loseTaints && !restarts {
			continue
		}
		if err := p.ours(ctx, path); err != nil {
			return p, r, err
		}
		if p.compat == (compat{}) {
			p.plain, broken = p.Ours, Judge(p)
		}
		r = Compare(p)
		if p.compat.forgetLease {
			r.Fired[ForgottenLease]++
		}
		if p.compat.loseTaints {
			r.Fired[RestartLoses]++
		}
		if len(r.Unexplained) == 0 {
			break
		}
	}
	r.Unexplained = append(r.Unexplained, broken...)
	return p, r, nil
}
