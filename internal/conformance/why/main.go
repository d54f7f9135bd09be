// Command why plays a scenario with our evictor and with upstream's controllers, and prints as JSON which deliberate
// differences explain the differences of their timelines.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/evictkit/evictkit/internal/conformance/differential"
)

// Answer is the output.
type Answer struct {
	Rules       []Rule
	Unexplained int    // lines that no rule explains
	First       string // the first of them
}

// Rule is one difference: the beginning of its row in DIFFERENCES.md, and how many lines of the timelines it explains.
type Rule struct {
	Row   string
	Lines int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "why:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: why ORACLE SCENARIO")
	}
	answer, err := ask(ctx, args[0], args[1])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func ask(ctx context.Context, oracle, scenario string) (*Answer, error) {
	_, result, err := differential.Oracles{differential.V137: oracle}.CheckFile(ctx, scenario, differential.V137)
	if err != nil {
		return nil, err
	}
	answer := &Answer{Unexplained: len(result.Unexplained)}
	for rule, lines := range result.Fired {
		answer.Rules = append(answer.Rules, Rule{rule.Row, lines})
	}
	slices.SortFunc(answer.Rules, func(a, b Rule) int { return cmp.Or(cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.Row, b.Row)) })
	if answer.Unexplained > 0 {
		answer.First = result.Unexplained[0].String()
	}
	return answer, nil
}
