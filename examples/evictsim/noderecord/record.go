package noderecord

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// Node is the configuration of the node.
type Node struct {
	Settings nodepressure.Settings `json:"settings"`
	Layout   nodepressure.Layout   `json:"layout"`
	// Ranking is ByUsage (also if empty) or ByQOS.
	Ranking string `json:"ranking,omitempty"`
}

var rankings = map[string]nodepressure.Ranking{"": nodepressure.ByUsage, "ByUsage": nodepressure.ByUsage, "ByQOS": nodepressure.ByQOS}

// Config returns the configuration of a machine, or an error with every fault of the node.
func (n Node) Config() (nodepressure.Config, error) {
	config, err := n.Settings.Config()
	ranking, ok := rankings[n.Ranking]
	if !ok {
		err = errors.Join(err, fmt.Errorf("unknown ranking %q, want ByUsage or ByQOS", n.Ranking))
	}
	if err != nil {
		return nodepressure.Config{}, err
	}
	config.Layout, config.Ranking = n.Layout, ranking
	return config, nil
}

// Amount is how much of something is available, and its capacity.
type Amount struct {
	Available int64 `json:"available"`
	Capacity  int64 `json:"capacity"`
	// At is when it was measured, in seconds, if that is not the time of the sample. Something that was measured no later
	// than in the sample before is not new, and no pod goes because of it.
	At *float64 `json:"at,omitempty"`
}

// Sample is one measurement of a node.
type Sample struct {
	// T is its time in seconds.
	T       float64                        `json:"t"`
	Signals map[nodepressure.Signal]Amount `json:"signals"`
	// Pods are the active pods, by namespace/name; nil if the usage is not known.
	Pods map[string]*nodepressure.Usage `json:"pods,omitempty"`
}

// Key returns the name of a pod in a sample.
func Key(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// At returns the time of the sample since instant 0.
func (s *Sample) At() time.Duration { return seconds(s.T) }

func seconds(t float64) time.Duration { return time.Duration(math.Round(t * float64(time.Second))) }

// Stats returns the sample for a machine, with its pods in the order of their names.
func (s *Sample) Stats(pods map[string]*v1.Pod, at time.Time) nodepressure.Stats {
	stats := nodepressure.Stats{Signals: make(map[nodepressure.Signal]nodepressure.Sample, len(s.Signals))}
	for signal, amount := range s.Signals {
		measured := at
		if amount.At != nil {
			measured = zero.Add(seconds(*amount.At))
		}
		stats.Signals[signal] = nodepressure.Sample{Available: amount.Available, Capacity: amount.Capacity, Time: measured}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Pods)) {
		stats.Pods = append(stats.Pods, nodepressure.Pod{Pod: pods[key], Usage: s.Pods[key]})
	}
	return stats
}

// line is one line of a file. Exactly one of its fields is set.
type line[P any] struct {
	Node   *Node   `json:"node,omitempty"`
	Pod    P       `json:"pod,omitempty"`
	Sample *Sample `json:"sample,omitempty"`
}
