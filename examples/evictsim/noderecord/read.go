package noderecord

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// maxLine is the greatest size of a line, in bytes.
const maxLine = 16 << 20

// maxSeconds is the greatest time of a sample: about thirty years.
const maxSeconds = 1e9

// Reader reads a record line by line.
type Reader struct {
	lines *bufio.Scanner
	name  string
	line  int
	node  Node
	pods  map[string]*v1.Pod
	last  float64
}

// NewReader reads the first line. Errors begin with the name.
func NewReader(name string, r io.Reader) (*Reader, error) {
	reader := &Reader{lines: bufio.NewScanner(r), name: name, pods: map[string]*v1.Pod{}}
	reader.lines.Buffer(nil, maxLine)
	l, err := reader.next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the record is empty", name)
	}
	if err != nil {
		return nil, err
	}
	if l.Node == nil {
		return nil, reader.fault(errors.New("the first line must be the node"))
	}
	reader.node = *l.Node
	if _, err := reader.node.Config(); err != nil {
		return nil, reader.fault(err)
	}
	return reader, nil
}

// Node returns the first line.
func (r *Reader) Node() Node { return r.node }

// Pods returns the pods read so far, by Key. Sample adds to the map.
func (r *Reader) Pods() map[string]*v1.Pod { return r.pods }

// Sample reads up to the next sample. It returns io.EOF if there is none.
func (r *Reader) Sample() (*Sample, error) {
	for {
		l, err := r.next()
		switch {
		case err != nil:
			return nil, err
		case l.Node != nil:
			return nil, r.fault(errors.New("only the first line can be a node"))
		case l.Sample != nil:
			if err := r.check(l.Sample); err != nil {
				return nil, r.fault(err)
			}
			r.last = l.Sample.T
			return l.Sample, nil
		}
		// A newer API may have more fields in a pod.
		pod := new(v1.Pod)
		if err := json.Unmarshal(l.Pod, pod); err != nil {
			return nil, r.fault(err)
		}
		if pod.Name == "" {
			return nil, r.fault(errors.New("a pod must have a name"))
		}
		if pod.Namespace == "" {
			pod.Namespace = metav1.NamespaceDefault
		}
		r.pods[Key(pod)] = pod
	}
}

func (r *Reader) next() (line[json.RawMessage], error) {
	for r.lines.Scan() {
		r.line++
		text := bytes.TrimSpace(r.lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var l line[json.RawMessage]
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&l); err != nil {
			return l, r.fault(err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return l, r.fault(errors.New("a line must hold a single object"))
		}
		set := 0
		for _, there := range []bool{l.Node != nil, l.Pod != nil, l.Sample != nil} {
			if there {
				set++
			}
		}
		if set != 1 {
			return l, r.fault(errors.New("a line must be a node, a pod or a sample"))
		}
		return l, nil
	}
	if err := r.lines.Err(); err != nil {
		r.line++
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
		}
		return line[json.RawMessage]{}, r.fault(err)
	}
	return line[json.RawMessage]{}, io.EOF
}

func (r *Reader) fault(err error) error { return fmt.Errorf("%s: line %d: %w", r.name, r.line, err) }

func (r *Reader) check(s *Sample) error {
	switch {
	case !(s.T >= 0 && s.T <= maxSeconds):
		return fmt.Errorf("t: %v is not a time: it must be between 0 and %v", s.T, float64(maxSeconds))
	case s.T < r.last:
		return fmt.Errorf("t: %v is before %v, that of the sample before", s.T, r.last)
	}
	for signal, amount := range s.Signals {
		if !signal.Valid() {
			return fmt.Errorf("signals: there is no signal %q, want one of %v", signal, nodepressure.Signals())
		}
		if amount.Capacity < 0 {
			return fmt.Errorf("signals: %s: capacity %d is negative", signal, amount.Capacity)
		}
		if at := amount.At; at != nil && !(math.Abs(*at) <= maxSeconds) {
			return fmt.Errorf("signals: %s: at: %v is not a time: it must be between %v and %v", signal, *at, -maxSeconds, maxSeconds)
		}
	}
	for key := range s.Pods {
		if r.pods[key] == nil {
			return fmt.Errorf("pods: no line before this one describes pod %q", key)
		}
	}
	return nil
}
