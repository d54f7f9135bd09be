package frontend

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
)

// Process is what a process of upstream's controllers gets.
type Process struct {
	Settings  scenario.Settings
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	// Nodes is the node informer, with a lister that waits until it has the newest node. Virtual time stands still while a
	// pass writes, so without that wait, tainting at the same instant would see old nodes.
	Nodes coreinformers.NodeInformer
	// Together says that all passes of the controllers come at the same instants. Otherwise those that taint come
	// between the others, where the version allows it.
	Together bool
	// Call Logged with everything that the controllers log about zones.
	Logged func(text string)
}

// Controllers makes upstream's controllers and returns what runs them until the context ends. It is called once for
// each process.
type Controllers func(ctx context.Context, p Process) (run []func(), err error)

// Main plays the scenario that the program's argument names, and writes the timeline to stdout. Rewrites, which are not
// part of a timeline, go to stderr as JSON. With -report FILE, the report goes to that file. With -together, all passes of
// the controllers come at the same instants; v1.18 always plays so.
func Main(controllers Controllers) {
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	report := flags.String("report", "", "write the report as JSON to `FILE`")
	points := flags.Int("points", 0, "with -report: about how many points its series has")
	together := flags.Bool("together", false, "let all passes of the controllers come at the same instants")
	_ = flags.Parse(os.Args[1:]) // it exits on errors
	if flags.NArg() != 1 {
		fmt.Fprintf(os.Stderr, "usage: %s [-report FILE] [-together] SCENARIO\n", os.Args[0])
		os.Exit(2)
	}
	path := flags.Arg(0)
	os.Args = os.Args[:1]
	// A bubble needs a test. The process exits within it, because v1.18 has goroutines that never end.
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "oracle", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			p, err := play(path, controllers, *points, *together)
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

// clock is the bubble's clock. Set lets virtual time pass, in which the controllers run.
type clock struct{ mu sync.Mutex }

func (c *clock) Now() time.Time                  { return time.Now() }
func (c *clock) Since(t time.Time) time.Duration { return time.Since(t) }
func (c *clock) Elapsed() time.Duration          { return time.Since(simulator.Epoch) }
func (c *clock) Set(d time.Duration) {
	c.mu.Unlock()
	time.Sleep(d - c.Elapsed()) //nolint:forbidigo // the bubble's time
	c.mu.Lock()
}

// played is the result of a scenario.
type played struct {
	timeline []byte
	rewrites []Rewrite
	report   *simulator.Report
	left     scenariofile.Left
}

// save writes the report, and what in the files plays no part.
func (p *played) save(path string) error {
	text, err := json.Marshal(struct {
		Report *simulator.Report
		Left   scenariofile.Left
	}{p.report, p.left})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func play(path string, controllers Controllers, points int, together bool) (p *played, err error) {
	s, err := scenariofile.Load(path)
	if err != nil {
		return nil, err
	}
	p = &played{}
	c := &clock{}
	c.mu.Lock()
	cluster := simulator.New(c)
	if p.left, err = scenariofile.ReadObjects(context.Background(), cluster, s.Cluster.Files, nil); err != nil {
		return nil, err
	}
	var server *Server
	var stop context.CancelFunc
	subject := func(w simulator.World) (simulator.Subject, error) {
		settings := w.Settings
		if settings.NodeMonitorPeriod <= 0 {
			return nil, fmt.Errorf("%s: upstream has passes only: nodeMonitorPeriod must be positive", path)
		}
		if server == nil {
			server = newServer(&c.mu, w.Cluster, w.Writer)
			server.together = together
			if settings.Reschedule {
				server.look = min(max(settings.RescheduleAfter, time.Millisecond), time.Second)
			}
		} else {
			server.session.close()
			stop()
		}
		var ctx context.Context
		ctx, stop = context.WithCancel(context.Background())
		err := server.start(ctx, settings, controllers)
		return server, err
	}
	p.report, err = simulator.Play(context.Background(), s, cluster, simulator.Options{Subject: subject, Points: points, Line: func(l scenario.Line) error {
		p.timeline = append(l.AppendJSON(p.timeline), '\n')
		return nil
	}})
	if server != nil {
		p.rewrites = server.Rewrites
	}
	return p, err
}

// start starts a process of the controllers. Its first pass, and so every later one, is a nanosecond after the instant,
// so that what happens at an instant comes before the pass of that instant.
func (s *Server) start(ctx context.Context, settings scenario.Settings, controllers Controllers) error {
	now := &session{server: s, watchers: map[string][]*watcher{}, listed: map[string][]watch.Event{}}
	s.session = now
	client := now.client()
	factory := informers.NewSharedInformerFactory(client, 1000*time.Hour)
	run, err := controllers(ctx, Process{
		Settings: settings, Client: client, Informers: factory, Nodes: freshNodes{factory.Core().V1().Nodes(), now}, Together: s.together,
		Logged: func(text string) { s.logged(now, text) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	for _, run := range run {
		go func() {
			time.Sleep(time.Nanosecond) //nolint:forbidigo // the same
			if ctx.Err() == nil {
				run()
			}
		}()
	}
	return nil
}
