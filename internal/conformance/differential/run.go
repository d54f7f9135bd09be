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
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
	"github.com/evictkit/evictkit/zone"
)

// Oracles are the programs that play scenarios with upstream's controllers.
type Oracles map[Against]string

// upstream plays the scenario file with upstream's controllers.
func (p *Played) upstream(ctx context.Context, program, path string) error {
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	args := []string{path}
	if p.Against == V137Together {
		args = []string{"-together", path}
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
		l, err := scenario.ParseLine(text)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Against, err)
		}
		if l, ok := compared(l); ok {
			p.Upstream = append(p.Upstream, l)
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
	cluster := simulator.New(&simulator.Clock{})
	if _, err := scenariofile.ReadObjects(ctx, cluster, s.Cluster.Files, nil); err != nil {
		return err
	}
	order := orderOf(s, p.Upstream, p.Against.late(s.Settings()))
	p.Ours, p.Decisions = nil, nil
	_, err = simulator.Play(ctx, s, cluster, simulator.Options{
		Line: func(l scenario.Line) error {
			if l, ok := compared(l); ok {
				p.Ours = append(p.Ours, l)
			}
			return nil
		},
		Decision: func(d evictor.Decision) { p.Decisions = append(p.Decisions, d) },
		Prefer: func(key zone.Key, waiting []string) string {
			return order.next(cluster, key, waiting)
		},
		Wrap: p.compat.wrap(s.Settings()),
	})
	return err
}

// compared reduces a line to what both sides report, without reasons and events.
func compared(l scenario.Line) (scenario.Line, bool) {
	l.More = ""
	switch l.Kind {
	case scenario.KindSettings, scenario.KindEvent, scenario.KindPending, scenario.KindDrain, scenario.KindRemove:
		return l, false
	}
	return l, true
}

func ownNoExecute(l scenario.Line) bool {
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
	p = &Played{Case: c, Against: against}
	if err := p.upstream(ctx, o[against], path); err != nil {
		return p, r, err
	}
	restarts := slices.ContainsFunc(c.Scenario.Events, func(e scenario.Event) bool { return e.Restart != nil })
	for _, p.compat = range []compat{{}, {forgetLease: true}, {loseTaints: true}, {true, true}} {
		if p.compat.loseTaints && !restarts {
			continue
		}
		if err := p.ours(ctx, path); err != nil {
			return p, r, err
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
	return p, r, nil
}
