package objects

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	v1 "k8s.io/api/core/v1"
)

// MaxObject is the size in bytes above which an object is refused. API servers refuse objects far below.
const MaxObject = 16 << 20

// Object is one object; exactly one of the fields is set. A pod without a namespace is in default.
type Object struct {
	Node *v1.Node
	Pod  *v1.Pod
}

// Count is how many objects a stream held.
type Count struct {
	Nodes, Pods int
	Skipped     int // objects of other kinds
	// Kinds are how many objects of each other kind there were; nil: none.
	Kinds map[string]int
}

// Stream is StreamCount for callers who do not care how many objects there were.
func Stream(r io.Reader, name string, visit func(Object) error) error {
	_, err := StreamCount(r, name, visit)
	return err
}

// StreamCount calls visit for every node and pod that r holds, in order, and counts the rest. What is
// visited may be kept. It reads JSON when the first character is a brace, else YAML, whose anchors and
// aliases it refuses.
//
// An error names the place: name, the line (YAML) or byte (JSON), the number of the object from 1 and its
// name where it has one. Text that is neither, an object above MaxObject, a node or pod that does not
// decode or has no name, an object without a kind, a list without one (kubectl prints it last, so the file was
// cut off) and a stream without any document are errors, and so is an error of visit, which is wrapped. The count holds
// what was read until then.
func StreamCount(r io.Reader, name string, visit func(Object) error) (Count, error) {
	s := &stream{visit: visit}
	in := bufio.NewReaderSize(r, 64<<10)
	if bom, _ := in.Peek(3); bytes.Equal(bom, []byte("\ufeff")) {
		if _, err := in.Discard(len(bom)); err != nil {
			return s.count, err
		}
	}
	first, err := firstByte(in)
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("holds no object")
	case err == nil && first == '{':
		err = s.json(in)
	case err == nil:
		err = s.yaml(in)
	}
	if err != nil {
		return s.count, fmt.Errorf("%s: %w", name, err)
	}
	return s.count, nil
}

// firstByte is the first byte that is not white space. It consumes white space only when that does not
// fit the buffer.
func firstByte(in *bufio.Reader) (byte, error) {
	for n := 1; ; n++ {
		text, err := in.Peek(n)
		if len(text) < n {
			if errors.Is(err, bufio.ErrBufferFull) {
				return 0, errors.New("starts with too much white space")
			}
			return 0, err
		}
		if b := text[n-1]; bytes.IndexByte(space, b) < 0 {
			return b, nil
		}
	}
}

// stream is what both formats share.
type stream struct {
	visit   func(Object) error
	count   Count
	objects int // seen so far, of any kind
}

var errTooLarge = fmt.Errorf("an object is larger than %d MiB", MaxObject>>20)
