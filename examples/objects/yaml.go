package objects

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// yaml reads YAML documents line by line and cuts lists into items, so that each item can be parsed by itself. Only
// lists in block style, as kubectl prints them, are cut; anything else is parsed document by document.
func (s *stream) yaml(in *bufio.Reader) error {
	c := cutter{pieces: pieces{stream: s}}
	err := c.cut(in)
	if first := c.pieces.finish(); first != nil { // of what comes before
		return first
	}
	if err == nil && c.pieces.documents == 0 {
		err = errors.New("holds no object")
	}
	return err
}

// cutter cuts a YAML stream into pieces that can be parsed separately.
type cutter struct {
	pieces pieces
	number int // of the current line
	line   []byte

	inItem bool // the piece is an item, else fields of the document
	state  state
	indent int // indentation of the items' dashes, -1 before the first
}

// state is the part of a document that the cutter is in.
type state int

const (
	before state = iota // the items, or in a document without items
	within
	after
)

func (c *cutter) cut(in *bufio.Reader) error {
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
			return c.endDocument()
		}
	}
}

// readLine reads a line including its end. The result is valid until the next call.
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

// take processes the next line.
func (c *cutter) take(line []byte) error {
	switch {
	case marker(line, "---"):
		if err := c.endDocument(); err != nil {
			return err
		}
		copy(line, "   ")
	case marker(line, "..."):
		return c.endDocument()
	case line[0] == '%' && c.state == before && blank(c.pieces.current()):
		return nil // a directive
	}
	if c.state == before && isItems(line) {
		err := c.endPiece()
		c.state, c.indent = within, -1
		return err
	}
	if c.state != within || blank(line) {
		return c.pieces.add(line, c.number)
	}
	indent := len(line) - len(bytes.TrimLeft(line, " "))
	dash := line[indent] == '-' && (len(line) == indent+1 || bytes.IndexByte(space, line[indent+1]) >= 0)
	switch {
	case dash && (c.indent < 0 || indent == c.indent):
		if err := c.endPiece(); err != nil {
			return err
		}
		c.indent, c.inItem = indent, true
		line[indent] = ' '
	case c.indent < 0 && indent > 0:
		return fmt.Errorf("line %d: items is not a list", c.number)
	case indent <= c.indent || c.indent < 0:
		if err := c.endPiece(); err != nil {
			return err
		}
		c.state = after
	}
	return c.pieces.add(line, c.number)
}

func (c *cutter) endPiece() error {
	inItem := c.inItem
	c.inItem = false
	return c.pieces.end(piece{inItem: inItem, state: c.state})
}

// endDocument ends the document and prepares for the next one.
func (c *cutter) endDocument() error {
	if err := c.endPiece(); err != nil {
		return err
	}
	err := c.pieces.end(piece{ends: true, state: c.state, line: c.number})
	c.state, c.indent = before, 0
	return err
}

// marker says whether a line is a document marker, which text may follow.
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
