package objects

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	kjson "sigs.k8s.io/json"
)

// json reads JSON values one after the other, and lists item by item.
func (s *stream) json(in *bufio.Reader) error {
	limit := &limiter{in: &unseparated{in: in}}
	decoder := kjson.NewDecoderCaseSensitivePreserveInts(limit)
	for {
		limit.from(decoder.InputOffset())
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && token != json.Delim('{') {
			err = fmt.Errorf("%v is not an object", token)
		}
		if err == nil {
			err = s.jsonDocument(decoder, limit)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("%w: is the file cut off?", err)
			}
			return fmt.Errorf("byte %d: %w", decoder.InputOffset(), err)
		}
	}
}

// jsonDocument reads an object after its opening brace. If it has items it is a list, otherwise an object to visit.
func (s *stream) jsonDocument(decoder kjson.Decoder, limit *limiter) error {
	var w wire
	var l list
	isList := false
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		into := any(new(json.RawMessage)) // for fields that are not used
		switch key {
		case "apiVersion":
			into = &w.APIVersion
		case "kind":
			into = &w.Kind
		case "metadata":
			into = &w.Metadata
		case "spec":
			into = &w.Spec
		case "status":
			into = &w.Status
		case "items":
			l.kind, isList = w.Kind, true
			if err := s.jsonItems(decoder, limit, &l); err != nil {
				return err
			}
			limit.from(decoder.InputOffset())
			continue
		}
		if err := decoder.Decode(into); err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
	}
	if _, err := decoder.Token(); err != nil { // the closing brace
		return err
	}
	if !isList {
		return s.document(&w)
	}
	l.kind = w.Kind
	return l.end()
}

func (s *stream) jsonItems(decoder kjson.Decoder, limit *limiter, l *list) error {
	switch token, err := decoder.Token(); {
	case err != nil:
		return err
	case token == nil: // null
		return nil
	case token != json.Delim('['):
		return errors.New("items is not a list")
	}
	var w wire // its parts keep their memory from item to item
	for decoder.More() {
		limit.from(decoder.InputOffset())
		w = wire{Metadata: w.Metadata[:0], Spec: w.Spec[:0], Status: w.Status[:0]}
		if err := decoder.Decode(&w); err != nil {
			return fmt.Errorf("object %d: %w", s.objects+1, err)
		}
		if err := s.item(l, &w); err != nil {
			return err
		}
	}
	_, err := decoder.Token() // the closing bracket
	return err
}

// limiter lets a JSON decoder read as far as one object may reach. The decoder reads more only in the middle of a
// value, so a refusal means that the value is too large.
type limiter struct {
	in   io.Reader
	read int64
	end  int64
}

// from sets where an object starts.
func (l *limiter) from(offset int64) { l.end = offset + MaxObject }

func (l *limiter) Read(p []byte) (int, error) {
	if l.read >= l.end {
		return 0, errTooLarge
	}
	n, err := l.in.Read(p[:min(int64(len(p)), l.end-l.read)])
	l.read += int64(n)
	return n, err
}

// unseparated blanks out the lines between documents (---). No JSON value can contain such a line.
type unseparated struct {
	in   *bufio.Reader
	line []byte // rest of the line, or of a part of it, in in's buffer
	more bool   // the next part continues a line
	err  error
}

func (u *unseparated) Read(p []byte) (int, error) {
	if len(u.line) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.line, u.err = u.in.ReadSlice('\n')
		if errors.Is(u.err, bufio.ErrBufferFull) {
			u.err = nil
		}
		if !u.more && bytes.HasPrefix(u.line, []byte("---")) {
			copy(u.line, "   ")
		}
		u.more = !bytes.HasSuffix(u.line, []byte("\n"))
	}
	n := copy(p, u.line)
	u.line = u.line[n:]
	if n == 0 {
		return 0, u.err
	}
	return n, nil
}
