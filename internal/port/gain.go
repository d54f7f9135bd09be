package port

import (
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Figure is one figure of a benchmark with their code and with ours, the least of those measured.
type Figure struct {
	Name, Unit   string
	Theirs, Ours float64
}

func (f Figure) String() string {
	return fmt.Sprintf("%s: theirs %.4g %s, ours %.4g (%.3g)", f.Name, f.Theirs, f.Unit, f.Ours, f.Theirs/f.Ours)
}

// Gain builds the package unchanged and as a port, both with that file of benchmarks, and runs the two in turn: rounds
// times, with that many operations each. work makes directories for what is built.
func (p Port) Gain(bench string, work func() string, rounds, operations int) (figures []Figure, err error) {
	var programs [2]string
	for i, as := range []bool{true, false} {
		p.With, p.as = []string{bench}, as
		built, err := p.Build(work())
		if err != nil {
			return nil, err
		}
		programs[i] = built.Program
	}
	for range rounds {
		for i, program := range programs {
			out, err := exec.Command(program, "-test.run", "^$", "-test.bench", ".", "-test.benchtime", strconv.Itoa(operations)+"x").Output()
			if err != nil {
				return nil, fmt.Errorf("benchmarks of %s: %w\n%s", p.Of, err, out)
			}
			if figures, err = least(figures, string(out), i == 0); err != nil {
				return nil, fmt.Errorf("benchmarks of %s: %w", p.Of, err)
			}
		}
	}
	return figures, nil
}

// least adds what a run of benchmarks printed to the figures.
func least(figures []Figure, out string, theirs bool) ([]Figure, error) {
	for _, line := range strings.Split(out, "\n") {
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		for n := 2; n+1 < len(words); n += 2 {
			value, err := strconv.ParseFloat(words[n], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			at := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == words[0] && f.Unit == words[n+1] })
			if at < 0 {
				at = len(figures)
				figures = append(figures, Figure{Name: words[0], Unit: words[n+1], Theirs: math.Inf(1), Ours: math.Inf(1)})
			}
			if f := &figures[at]; theirs {
				f.Theirs = min(f.Theirs, value)
			} else {
				f.Ours = min(f.Ours, value)
			}
		}
	}
	return figures, nil
}
