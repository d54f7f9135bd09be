package noderecord

import (
	"encoding/json"
	"io"

	v1 "k8s.io/api/core/v1"
)

// Writer writes a record for a Reader. Each call writes one line.
type Writer struct{ encoder *json.Encoder }

// NewWriter writes the first line.
func NewWriter(w io.Writer, node Node) (*Writer, error) {
	writer := &Writer{json.NewEncoder(w)}
	return writer, writer.encoder.Encode(line[*v1.Pod]{Node: &node})
}

// Pod writes a pod.
func (w *Writer) Pod(pod *v1.Pod) error { return w.encoder.Encode(line[*v1.Pod]{Pod: pod}) }

// Sample writes a sample. Write its pods first.
func (w *Writer) Sample(sample *Sample) error {
	return w.encoder.Encode(line[*v1.Pod]{Sample: sample})
}
