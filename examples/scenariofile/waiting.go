package scenariofile

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"io"

	v1 "k8s.io/api/core/v1"
)

// waiting holds pods whose nodes have not come yet, in order. Pods of one cluster are much alike, so compressed they
// take a small part of the file's size.
type waiting struct {
	count  int
	text   bytes.Buffer // each pod, preceded by its size
	writer *flate.Writer
	pod    []byte
}

func (w *waiting) add(pod *v1.Pod) (err error) {
	if w.writer == nil {
		if w.writer, err = flate.NewWriter(&w.text, flate.BestSpeed); err != nil {
			return err
		}
	}
	if size := pod.Size(); cap(w.pod) < size {
		w.pod = make([]byte, 2*size)
	}
	size, err := pod.MarshalTo(w.pod[:cap(w.pod)])
	if err != nil {
		return err
	}
	var head [binary.MaxVarintLen64]byte
	if _, err := w.writer.Write(binary.AppendUvarint(head[:0], uint64(size))); err != nil {
		return err
	}
	w.count++
	_, err = w.writer.Write(w.pod[:size])
	return err
}

// each calls visit for every pod. If there is an error it also returns the pod's number, from 0.
func (w *waiting) each(ctx context.Context, visit func(*v1.Pod) error) (at int, err error) {
	if w.count == 0 {
		return 0, nil
	}
	if err := w.writer.Close(); err != nil {
		return 0, err
	}
	in := bufio.NewReader(flate.NewReader(&w.text))
	for at = range w.count {
		if err := ctx.Err(); err != nil {
			return at, err
		}
		size, err := binary.ReadUvarint(in)
		if err != nil {
			return at, err
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return at, err
		}
		pod := &v1.Pod{}
		if err := pod.Unmarshal(text); err != nil {
			return at, err
		}
		if err := visit(pod); err != nil {
			return at, err
		}
	}
	return 0, nil
}
