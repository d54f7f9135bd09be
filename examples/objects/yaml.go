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

// yaml reads YAML documents line by line and cuts the items out of a list, so that each can be parsed by
// itself. Only a list in block style, as kubectl prints it, is cut; anything else is parsed document by
// document.
func (s *stream) yaml(in *bufio.Reader) error {
	c := cutter{stream: s}
	for {
		line, err := c.readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", c.number+1, err)
		}
		if len(line) > 0 {
			c.number++
			if err := c.take(line); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
	}
	if err := c.endDocument(); err != nil {
		return err
	}
	if c.documents == 0 {
		return errors.New("holds no object")
	}
	return nil
}

// cutter cuts a YAML stream into chunks that parse by themselves.
type cutter struct {
	stream    *stream
	number    int // of the line
	line      []byte
	documents int // that held something

	chunk  []byte
	start  int  // line on which the chunk starts
	inItem bool // the chunk is an item, else fields of the document
	state  state
	indent int // of the items' dashes, -1 before the first
	list   list
	fields fields // of the document, as far as they are parsed
	some   bool   // there were fields
}

// fields are those of a document that was not cut.
type fields struct {
	wire
	Items json.RawMessage `json:"items"`
}

// state is where in a document the cutter is.
type state int

const (
	before state = iota // the items, or in a document without
	within
	after
)

// readLine reads a line with its end. It is valid until the next call.
func (c *cutter) readLine(in *bufio.Reader) ([]byte, error) {
	c.line = c.line[:0]
	for {
		part, err := in.ReadSlice('\n')
		if len(c.line) == 0 && !errors.Is(err, bufio.ErrBufferFull) {
			return part, err
		}
		c.line = append(c.line, part...)
		if len(c.line) > MaxObject {
			return nil, errTooLarge
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return c.line, err
		}
	}
}

// take takes the next line.
func (c *cutter) take(line []byte) error {
	switch {
	case marker(line, "---"):
		if err := c.endDocument(); err != nil {
			return err
		}
		copy(line, "   ")
	case marker(line, "..."):
		return c.endDocument()
	case line[0] == '%' && c.state == before && blank(c.chunk):
		return nil // a directive
	}
	if c.state == before && isItems(line) {
		c.state, c.indent = within, -1
		return c.endChunk()
	}
	if c.state != within || blank(line) {
		return c.add(line)
	}
	indent := len(line) - len(bytes.TrimLeft(line, " "))
	dash := line[indent] == '-' && (len(line) == indent+1 || bytes.IndexByte(space, line[indent+1]) >= 0)
	switch {
	case dash && (c.indent < 0 || indent == c.indent):
		if err := c.endChunk(); err != nil {
			return err
		}
		c.indent, c.inItem = indent, true
		line[indent] = ' '
	case c.indent < 0 && indent > 0:
		return fmt.Errorf("line %d: items is not a list", c.number)
	case indent <= c.indent || c.indent < 0:
		if err := c.endChunk(); err != nil {
			return err
		}
		c.state = after
	}
	return c.add(line)
}

// add adds a line to the chunk.
func (c *cutter) add(line []byte) error {
	if len(c.chunk)+len(line) > MaxObject {
		return fmt.Errorf("line %d: %w", c.number, errTooLarge)
	}
	if len(c.chunk) == 0 {
		c.start = c.number
	}
	c.chunk = append(c.chunk, line...)
	return nil
}

// endChunk parses the chunk, which is an item or holds fields of the document.
func (c *cutter) endChunk() error {
	text, start, inItem := c.chunk, c.start, c.inItem
	c.chunk, c.inItem = c.chunk[:0], false
	if !inItem && blank(text) {
		return nil
	}
	object, err := toJSON(text, start)
	switch {
	case err != nil && inItem:
		return fmt.Errorf("%w (object %d)", err, c.stream.objects+1)
	case err != nil:
		return err
	case object[0] != '{' && string(object) != "null":
		err = errors.New("not an object")
	case inItem:
		var w wire
		if err = kjson.UnmarshalCaseSensitivePreserveInts(object, &w); err == nil {
			err = c.stream.item(&c.list, &w)
		}
	default:
		err = c.setFields(object)
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", start, err)
	}
	return nil
}

// setFields takes over the fields of a document that stand before or after its items.
func (c *cutter) setFields(object []byte) error {
	if string(object) == "null" {
		return nil
	}
	c.fields = fields{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(object, &c.fields); err != nil {
		return err
	}
	c.some = true
	if c.fields.Kind != "" {
		c.list.kind = c.fields.Kind
	}
	if c.state == after && c.fields.Items != nil {
		return errors.New("items is there twice")
	}
	return nil
}

// endDocument takes what the document holds and makes ready for the next one.
func (c *cutter) endDocument() error {
	if err := c.endChunk(); err != nil {
		return err
	}
	if c.state == before && !c.some {
		return nil
	}
	line := c.start
	var err error
	switch {
	case c.state != before:
		line, err = c.number, c.list.end()
	case c.fields.Items == nil:
		err = c.stream.document(&c.fields.wire)
	default:
		err = c.stream.items(&c.list, c.fields.Items)
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	*c = cutter{stream: c.stream, number: c.number, documents: c.documents + 1, chunk: c.chunk}
	return nil
}

// marker says whether a line is a document marker, after which text may follow.
func marker(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || bytes.IndexByte(space, rest[0]) >= 0)
}

// isItems says whether a line is the key items with nothing after it, so that a block follows.
func isItems(line []byte) bool {
	for _, key := range []string{"items:", `"items":`, "'items':"} {
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok {
			return blank(rest)
		}
	}
	return false
}

// blank says whether text holds only white space and comments.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimLeft(line, string(space)); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

var space = []byte(" \t\r\n")
