package frontend

import (
	"context"
	"encoding/json"
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

// Process is what a process of upstream's controllers is made with.
type Process struct {
	Settings  scenario.Settings
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	// Nodes is the informers' one, whose lister waits until it shows the newest node. All virtual time stands still while
	// a pass writes, so that without it the tainting that follows at the same instant would find nodes as they were.
	Nodes coreinformers.NodeInformer
	// Logged is to be given what the controllers log about zones.
	Logged func(text string)
}

// Controllers makes upstream's controllers and returns what runs them until the context ends. It is called once
// for each of their processes.
type Controllers func(ctx context.Context, p Process) (run []func(), err error)

// Main plays the scenario named by the program's only argument, and writes the timeline to stdout. What is no part of a
// timeline, the rewrites, goes to stderr as JSON.
func Main(controllers Controllers) {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: %s SCENARIO\n", os.Args[0])
		os.Exit(2)
	}
	path := os.Args[1]
	os.Args = os.Args[:1]
	// A bubble needs a test. It is left by exiting, because v1.18 has goroutines that never end.
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "oracle", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			timeline, rewrites, err := play(path, controllers)
			if err == nil {
				_, err = os.Stdout.Write(timeline)
			}
			if err == nil {
				err = json.NewEncoder(os.Stderr).Encode(rewrites)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		})
	}}}, nil, nil)
}

// clock is the bubble's clock. Set lets virtual time pass, and with it whatever the controllers do meanwhile.
type clock struct{ mu sync.Mutex }

func (c *clock) Now() time.Time                  { return time.Now() }
func (c *clock) Since(t time.Time) time.Duration { return time.Since(t) }
func (c *clock) Elapsed() time.Duration          { return time.Since(simulator.Epoch) }
func (c *clock) Set(d time.Duration) {
	c.mu.Unlock()
	time.Sleep(d - c.Elapsed()) //nolint:forbidigo // the bubble's time
	c.mu.Lock()
}

func play(path string, controllers Controllers) (timeline []byte, rewrites []Rewrite, err error) {
	s, err := scenariofile.Load(path)
	if err != nil {
		return nil, nil, err
	}
	c := &clock{}
	c.mu.Lock()
	cluster := simulator.New(c)
	if _, err := scenariofile.ReadObjects(cluster, s.Cluster.Files); err != nil {
		return nil, nil, err
	}
	var server *Server
	var stop context.CancelFunc
	subject := func(settings scenario.Settings, cluster *simulator.Cluster, writer *simulator.Writer) (simulator.Subject, error) {
		if settings.NodeMonitorPeriod <= 0 || settings.Reschedule {
			return nil, fmt.Errorf("%s: upstream has passes only, and a scheduler is not here", path)
		}
		if server == nil {
			server = newServer(&c.mu, cluster, writer)
		} else {
			server.session.close()
			stop()
		}
		var ctx context.Context
		ctx, stop = context.WithCancel(context.Background())
		err := server.start(ctx, settings, controllers)
		return server, err
	}
	_, err = simulator.Play(context.Background(), s, cluster, simulator.Options{Subject: subject, Line: func(l scenario.Line) error {
		timeline = append(l.AppendJSON(timeline), '\n')
		return nil
	}})
	if server != nil {
		rewrites = server.Rewrites
	}
	return timeline, rewrites, err
}

// start begins a process of the controllers. Their first pass, and with it every later one, comes a nanosecond
// after the instant, so that what happens at an instant comes before the pass of that instant.
func (s *Server) start(ctx context.Context, settings scenario.Settings, controllers Controllers) error {
	now := &session{server: s, watchers: map[string][]*watcher{}, listed: map[string][]watch.Event{}}
	s.session = now
	client := now.client()
	factory := informers.NewSharedInformerFactory(client, 1000*time.Hour)
	run, err := controllers(ctx, Process{
		Settings: settings, Client: client, Informers: factory, Nodes: freshNodes{factory.Core().V1().Nodes(), now},
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
