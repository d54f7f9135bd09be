package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// The names of the engines.
const (
	ours     = "evictkit"
	upstream = "upstream"
)

// engine is one of the programs that can play a scenario.
type engine struct {
	name    string
	program string // path for upstream's controllers; empty for ours
	why     string // path of the program that compares both; empty if there is none
	root    string // of the checkout; empty if there is none
}

type engineFlags struct{ choice, program string }

func (f *engineFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.choice, "engine", ours, "evictkit, upstream (Kubernetes' own controllers and kubectl drain, built from a checkout of this repository), or both")
	set.StringVar(&f.program, "upstream-program", "", "program `FILE` that plays upstream's controllers, instead of one built from a checkout")
}

// engines returns the chosen engines. It builds upstream's program if needed.
func (f *engineFlags) engines(ctx context.Context, stderr io.Writer, quiet bool) ([]engine, error) {
	switch f.choice {
	case ours:
		return []engine{{name: ours}}, nil
	case upstream, "both":
	default:
		return nil, usage(fmt.Errorf("--engine %s is neither evictkit, upstream nor both", f.choice))
	}
	theirs, err := f.find(ctx, stderr, quiet)
	if err != nil {
		return nil, fmt.Errorf("--engine %s: %w", f.choice, err)
	}
	if f.choice == upstream {
		return []engine{theirs}, nil
	}
	return []engine{{name: ours}, theirs}, nil
}
