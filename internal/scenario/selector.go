package scenario

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"
)

// Selector chooses nodes: by Node, Nodes, Zone, Labels, or by a zone and labels together. With a zone or labels, Count
// and Percent choose some of those that qualify (are alive, for fail; have failed, for recover; have something to do,
// for other actions): the first in name order or, with Seed, in a pseudo-random order. If both are nil, all are chosen.
type Selector struct {
	Zone   *string        `yaml:"zone"`
	Labels *LabelSelector `yaml:"selector"`
	Node   string         `yaml:"node"`
	Nodes  []string       `yaml:"nodes"`
	Count  *int           `yaml:"count"`
	// Percent is a share of the matching nodes, whether they qualify or not, rounded to the nearest node, half up.
	Percent *float64 `yaml:"percent"`
	Seed    *int64   `yaml:"seed"`
}

// LabelSelector is a label selector as kubectl takes it: pool=gpu,tier in (a,b),!spot. An empty one matches every node.
// In a scenario file it may also be a mapping of labels to values.
type LabelSelector string

// UnmarshalText reads a label selector.
func (l *LabelSelector) UnmarshalText(text []byte) error {
	if _, err := labels.Parse(string(text)); err != nil {
		return fmt.Errorf("selector %q: %w", text, err)
	}
	*l = LabelSelector(text)
	return nil
}

// Parse returns the selector as a labels.Selector.
func (l LabelSelector) Parse() (labels.Selector, error) { return labels.Parse(string(l)) }

// Several says whether it chooses among nodes instead of naming them.
func (s *Selector) Several() bool { return s.Zone != nil || s.Labels != nil }

// Most returns how many of that many nodes are chosen at most.
func (s *Selector) Most(nodes int) int {
	switch {
	case s.Count != nil:
		return *s.Count
	case s.Percent != nil:
		return int(math.Floor(float64(nodes)**s.Percent/100 + 0.5))
	}
	return nodes
}

// Order puts the names, which are sorted, into the order of choice in a round of repeat, counted from 0. With a seed,
// that is the order of the SHA-256 of "<seed+round>/<name>".
func (s *Selector) Order(names []string, round int) []string {
	if s.Seed == nil {
		return names
	}
	type drawn struct {
		name string
		sum  [sha256.Size]byte
	}
	all := make([]drawn, len(names))
	prefix := strconv.FormatInt(*s.Seed+int64(round), 10) + "/"
	for i, name := range names {
		all[i] = drawn{name, sha256.Sum256([]byte(prefix + name))}
	}
	slices.SortFunc(all, func(a, b drawn) int { return bytes.Compare(a.sum[:], b.sum[:]) })
	ordered := make([]string, len(all))
	for i := range all {
		ordered[i] = all[i].name
	}
	return ordered
}

// check reports the faults of a selector by itself, and says whether it can be used.
func (s *Selector) check(f *faults) bool {
	given := 0
	for _, is := range []bool{s.Zone != nil || s.Labels != nil, s.Node != "", len(s.Nodes) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		f.add("%d of zone (or selector), node and nodes are set, not exactly one", given)
		return false
	}
	if s.Count != nil && *s.Count < 0 {
		f.add("count: %d is negative", *s.Count)
	}
	if p := s.Percent; p != nil && !(*p >= 0 && *p <= 100) {
		f.add("percent: %v is outside 0…100", *p)
	}
	for _, of := range []struct {
		name  string
		given bool
	}{{"count", s.Count != nil}, {"percent", s.Percent != nil}, {"seed", s.Seed != nil}} {
		if of.given && !s.Several() {
			f.add("%s is allowed only with zone or selector", of.name)
		}
	}
	if s.Count != nil && s.Percent != nil {
		f.add("count and percent cannot both be set")
	}
	if s.Seed != nil && s.Count == nil && s.Percent == nil {
		f.add("seed is allowed only with count or percent")
	}
	if s.Labels == nil {
		return true
	}
	if _, err := s.Labels.Parse(); err != nil {
		f.add("selector %q: %w", *s.Labels, err)
		return false
	}
	return true
}
