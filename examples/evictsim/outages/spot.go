package outages

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/examples/scenariofile"
)

// spot plays three recorded zones of 16 spot machines each on the zones of the whole recorded cluster.
func spot(data string, length time.Duration) (p *played, err error) {
	p = &played{}
	if p.nodes, p.pods, err = machines(data); err != nil {
		return nil, err
	}
	if p.traces, err = traces(filepath.Join(data, "spot")); err != nil {
		return nil, err
	}
	p.stretch(length)
	return p, nil
}

// nodesOfMarket is the number of nodes in a zone, which all live and die with its single recorded machine.
const nodesOfMarket = 16

// single plays nine recorded zones. In each, one machine was requested; the zone's nodes live while it was available.
func single(data string, length time.Duration) (p *played, err error) {
	p = &played{}
	if p.traces, err = traces(filepath.Join(data, "spot-1node")); err != nil {
		return nil, err
	}
	if p.nodes, p.pods, err = smaller(data, nodesOfMarket*len(p.traces)); err != nil {
		return nil, err
	}
	for i := range p.nodes {
		zone := p.traces[i%len(p.traces)].zone
		p.nodes[i].Labels[v1.LabelTopologyZone], p.nodes[i].Labels[v1.LabelTopologyRegion] = zone, strings.TrimRight(zone, "abcdef")
	}
	p.stretch(length)
	return p, nil
}

// traces reads all traces of a folder. They are named after their zones.
func traces(dir string) (all []trace, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		gap, alive, err := scenariofile.LoadTrace(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, err
		}
		zone, _, _ := strings.Cut(strings.TrimSuffix(file.Name(), ".json"), "_")
		all = append(all, trace{zone: zone, gap: gap, data: alive})
	}
	if len(all) == 0 {
		return nil, errors.New(dir + ": the folder has no traces")
	}
	return all, nil
}

// stretch keeps the worst stretch of the traces: the one with the most losses, as shares of the zones. All traces have the
// same gap.
func (p *played) stretch(length time.Duration) {
	gap, samples := p.traces[0].gap, 0
	for _, t := range p.traces {
		samples = max(samples, len(t.data))
	}
	begin, end := 0, samples
	if n := int(length / gap); length > 0 && n < samples {
		lost := make([]float64, samples)
		for _, t := range p.traces {
			most := max(slices.Max(t.data), 1)
			for j := 1; j < len(t.data); j++ {
				lost[j] += float64(max(t.data[j-1]-t.data[j], 0)) / float64(most)
			}
		}
		begin = worst(samples, n, func(j int) float64 { return lost[j] })
		end = begin + n
	}
	for i := range p.traces {
		t := &p.traces[i]
		t.data = t.data[min(begin, len(t.data)-1):min(end, len(t.data))]
	}
	p.until = time.Duration(end-begin) * gap
}

// worst returns where the stretch of n steps with the largest sum begins. Of equal ones it returns the first.
func worst(steps, n int, of func(int) float64) (begin int) {
	sum, largest := 0.0, -1.0
	for j := range steps {
		sum += of(j)
		if j >= n {
			sum -= of(j - n)
		}
		if j >= n-1 && sum > largest+1e-9 {
			largest, begin = sum, j-n+1
		}
	}
	return begin
}
