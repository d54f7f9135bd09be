package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: release prepare VERSION, release rehearse [-floor GO] [-apart] [-keep DIR] VERSION, or release sbom PROGRAM")

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	floor := flags.String("floor", "go1.23.12", "the oldest `GO` that the libraries are for")
	apart := flags.Bool("apart", false, "rehearse with exactly this version, and a module cache of its own: all is compiled anew")
	keep := flags.String("keep", "", "leave in `DIR` what the rehearsal made")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	switch {
	case err != nil:
		return err
	case flags.NArg() != 1:
		return errUsage
	case args[0] == "prepare":
		return prepareHere(ctx, root, flags.Arg(0))
	case args[0] == "rehearse":
		r := rehearsal{source: root, version: flags.Arg(0), floor: *floor, apart: *apart, out: os.Stdout}
		if !r.apart {
			r.version = passing(r.version)
		}
		return r.rehearseIn(ctx, *keep)
	case args[0] == "sbom":
		return billed(ctx, nil, toolchain{program: "go"}, flags.Arg(0))
	default:
		return errUsage
	}
}

// prepareHere changes the working tree itself.
func prepareHere(ctx context.Context, root, version string) error {
	changed, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the work tree has changes, which would become part of the release:\n%s", changed)
	}
	changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !dated(string(changes), version) {
		return fmt.Errorf("CHANGELOG.md has no entry like: ## %s - 2026-01-31", version)
	}
	proxy, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	packed, err := prepare(ctx, root, version, proxy)
	for _, p := range packed {
		fmt.Fprintln(os.Stdout, p.tag(), p.sum)
	}
	return errors.Join(err, os.RemoveAll(proxy))
}

// dated says whether a version's entry has a release date.
func dated(changes, version string) bool {
	return regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(version) + ` - \d{4}-\d\d-\d\d$`).MatchString(changes)
}

// rehearseIn works in a temporary directory, or in the one to keep.
func (r *rehearsal) rehearseIn(ctx context.Context, keep string) (err error) {
	if keep == "" {
		if r.dir, err = os.MkdirTemp("", "release"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	} else if r.dir, err = filepath.Abs(keep); err != nil {
		return err
	}
	return r.rehearse(ctx)
}
