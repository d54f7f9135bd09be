package frontend

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// Process is what a process of upstream's controllers gets.
type Process struct {
	Config    nodelifecycle.Config // its NodeMonitorPeriod is positive
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	// Nodes is the node informer. Its lister waits until it has the newest node: virtual time stands still while a pass
	// writes, so what taints at the same instant would otherwise see old nodes.
	Nodes coreinformers.NodeInformer
	// Together says that all passes of the controllers come at the same instants. Otherwise, if the version allows it, those
	// that taint come between the others.
	Together bool
	// Call Logged with everything that the controllers log about zones.
	Logged func(text string)
}

// Controllers makes upstream's controllers and returns what runs them until the context ends. It is called once for
// each process.
type Controllers func(ctx context.Context, p Process) (run []func(), err error)

// Others play what else of Kubernetes can act in a scenario.
type Others interface {
	With(ctx context.Context) context.Context // for simulation.Play
	Start(w *simulation.World) (simulation.Controller, error)
	PodPatched(pod evictor.PodKey, patch []byte) // by the controllers
}

// MakeOthers makes them for a scenario, which it may change. They tell the clock what they write.
type MakeOthers func(c *Clock, s *simulation.Scenario) (Others, error)

// Main plays the scenario that the program's argument names, and writes the timeline to stdout. Rewrites, which are not
// part of a timeline, go to stderr as JSON. With -report FILE, the report goes to that file. With -together, all passes of
// the controllers come at the same instants; v1.18 always plays so. With -controllers-only, Scenario.ControllersOnly is set,
// and there are no others.
func Main(controllers Controllers, others MakeOthers) {
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	report := flags.String("report", "", "write the report as JSON to `FILE`")
	points := flags.Int("points", 0, "with -report: about how many points its series has")
	together := flags.Bool("together", false, "let all passes of the controllers come at the same instants")
	alone := flags.Bool("controllers-only", false, "play the controllers without what happens to their leader, and to everybody else, in an outage of the API")
	_ = flags.Parse(os.Args[1:]) // it exits on errors
	if flags.NArg() != 1 {
		fmt.Fprintf(os.Stderr, "usage: %s [-report FILE] [-together] [-controllers-only] SCENARIO\n", os.Args[0])
		os.Exit(2)
	}
	debug.SetGCPercent(400) // upstream's passes copy much and keep little
	path := flags.Arg(0)
	os.Args = os.Args[:1]
	// A bubble needs a test. The process exits within it, because v1.18 has goroutines that never end.
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "oracle", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			if *alone {
				others = nil
			}
			p, err := play(path, controllers, others, *points, *together, *alone)
			if err == nil {
				_, err = os.Stdout.Write(p.timeline)
			}
			if err == nil {
				err = json.NewEncoder(os.Stderr).Encode(p.rewrites)
			}
			if err == nil && *report != "" {
				err = p.save(*report)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		})
	}}}, nil, nil)
}

// played is the result of a scenario.
type played struct {
	timeline []byte
	rewrites []Rewrite
	report   *simulation.Report
	left     *scenariofile.Left
}

// save writes the report, and what the simulation left out of the files.
func (p *played) save(path string) error {
	text, err := json.Marshal(struct {
		Report *simulation.Report
		Left   *scenariofile.Left
	}{p.report, p.left})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func play(path string, controllers Controllers, others MakeOthers, points int, together, alone bool) (p *played, err error) {
	file, err := scenariofile.Load(path)
	if err != nil {
		return nil, err
	}
	p = &played{}
	var s simulation.Scenario
	s, p.left = file.Simulation(context.Background(), nil)
	if s.Config.Nodes.NodeMonitorPeriod <= 0 {
		return nil, fmt.Errorf("%s: upstream has passes only: nodeMonitorPeriod must be positive", path)
	}
	c := NewClock(others != nil)
	c.Lock()
	s.Clock, s.Points, s.AskBudgets = c, points, false // upstream's controllers delete pods
	s.ControllersOnly = alone
	s.Timeline = func(l timeline.Line) error {
		p.timeline = append(l.AppendJSON(p.timeline), '\n')
		return nil
	}
	server := newServer(c)
	server.together = together
	server.stop = func() {}
	ctx, starts := context.Background(), []simulation.Start{func(w *simulation.World) (simulation.Controller, error) {
		server.stop()
		var ctx context.Context
		ctx, server.stop = context.WithCancel(context.Background())
		return server, server.start(ctx, w, controllers)
	}}
	if others != nil {
		if server.others, err = others(c, &s); err != nil {
			return nil, err
		}
		ctx, starts = server.others.With(ctx), append(starts, server.others.Start)
	}
	p.report, err = simulation.Play(ctx, s, starts...)
	p.rewrites = server.Rewrites
	return p, err
}

// start starts a process of the controllers. Each of its passes comes a nanosecond late, so whatever else happens at that
// instant comes first.
func (s *Server) start(ctx context.Context, w *simulation.World, controllers Controllers) error {
	now := &session{server: s, watchers: map[string][]*watcher{}, listed: map[string][]watch.Event{}}
	if s.world == nil {
		s.firstLeases(w)
	} else if s.session != nil {
		s.session.close()
	}
	s.world, s.clients, s.session = w, w.Clients(), now
	if err := s.clients.Source.Feed(s); err != nil {
		return err
	}
	client := now.client(ctx)
	factory := informers.NewSharedInformerFactory(client, 1000*time.Hour)
	run, err := controllers(ctx, Process{
		Config: w.Config().Nodes, Client: client, Informers: factory, Nodes: freshNodes{factory.Core().V1().Nodes(), now}, Together: s.together,
		Logged: func(text string) { s.logged(now, text) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	for _, run := range run {
		go func() {
			time.Sleep(time.Nanosecond) //nolint:forbidigo // the bubble's time
			if ctx.Err() == nil {
				run()
			}
		}()
	}
	return nil
}
