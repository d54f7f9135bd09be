package objects

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// MaxObject is the size limit of an object, in bytes. API servers have a far lower limit.
const MaxObject = 16 << 20

// Count is how many objects of each kind a stream had, of the kinds that are visited and of others.
type Count struct{ Read, Skipped map[string]int }

// Stream calls visit for every node, pod, PodDisruptionBudget, PersistentVolume, PersistentVolumeClaim, Job and
// StatefulSet (without its status) in r, in order, and counts the rest. Those without a namespace are in default.
// PodDisruptionBudgets of any version come as policy/v1beta1, which every version of k8s.io/api has. visit may keep its
// objects. Text whose first character is a brace is JSON, all other text YAML. Stream refuses YAML's merge keys.
//
// These are errors: text that is neither JSON nor YAML, an object larger than MaxObject, an object of these kinds that
// does not decode or has no name, an object without a kind, a list without a kind (kubectl prints it last, so the file
// was cut off), a stream without any document, and an error of visit, which Stream wraps. An error names the
// place: name, the line (YAML) or byte (JSON), the number of the object from 1 and, if known, its name. The count
// covers all objects up to there.
func Stream(r io.Reader, name string, visit func(runtime.Object) error) (Count, error) {
	s := &stream{visit: visit, count: Count{make(map[string]int), make(map[string]int)}}
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
	case err == nil && first == '\x1f':
		err = errors.New("is compressed by gzip: unpack it first, for example with gunzip")
	case err == nil && first == '[':
		err = errors.New(`begins with a list: write {"apiVersion": "v1", "kind": "List", "items": [...]}, as kubectl get -o json does`)
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

// firstByte returns the first byte that is not white space. It consumes white space only if that does not fit the
// buffer.
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
	visit   func(runtime.Object) error
	count   Count
	objects int // seen so far, of any kind
}

var errTooLarge = fmt.Errorf("an object is larger than %d MiB", MaxObject>>20)
