package objects

import (
	"errors"
	"fmt"
	"runtime"
)

// pieces takes the text that a cutter cut, has several pieces parsed at once on all processors, and passes the results
// to the stream in their original order. Reading and visiting happen only on the caller's goroutine.
type pieces struct {
	stream    *stream
	batch     *batch   // being filled
	from      int      // where the current piece begins in its text
	start     int      // the line of that
	sent      []*batch // being parsed, in order
	size      int      // size of their text
	err       error    // of the first piece that has one
	documents int      // how many held something
	document
}

// document is the state of a document while its pieces are being taken over.
type document struct {
	list   list
	fields fields
	some   bool // it had fields
	line   int  // of the last piece

	anchors  anchors
	anchored int // the size of what they stand for
}

const (
	// enough is the size of a batch. Handing one over costs microseconds, parsing it milliseconds.
	enough = 64 << 10
	// underway limits how much text is being parsed if there is more than one batch.
	underway = 16 * enough
)

// current returns the text of the piece that is being filled.
func (p *pieces) current() []byte {
	if p.batch == nil {
		return nil
	}
	return p.batch.text[p.from:]
}

// filling returns the batch that is being filled.
func (p *pieces) filling() *batch {
	if p.batch == nil {
		p.batch, p.from = &batch{done: make(chan struct{})}, 0
	}
	return p.batch
}

// add adds a line to the current piece.
func (p *pieces) add(line []byte, number int) error {
	b := p.filling()
	if len(p.current())+len(line) > MaxObject {
		return fmt.Errorf("line %d: %w", number, errTooLarge)
	}
	if len(p.current()) == 0 {
		p.start = number
	}
	b.text = append(b.text, line...)
	return nil
}

// end ends the current piece. The error is that of an earlier piece.
func (p *pieces) end(of piece) error {
	b := p.filling()
	if of.from, of.to = p.from, len(b.text); !of.ends {
		of.line = p.start
	}
	if of.ends || of.inItem || !blank(b.text[of.from:]) {
		b.pieces = append(b.pieces, of)
	}
	if p.from = len(b.text); p.from < enough {
		return nil
	}
	p.send()
	for p.err == nil && (len(p.sent) > runtime.GOMAXPROCS(0) || p.size > underway && len(p.sent) > 1) {
		p.takeOver()
	}
	return p.err
}

// send starts to parse the batch.
func (p *pieces) send() {
	b := p.batch
	b.size = len(b.text)
	p.batch, p.sent, p.size = nil, append(p.sent, b), p.size+b.size
	go b.parse()
}

// finish takes over everything that is left, and returns the first error.
func (p *pieces) finish() error {
	if p.batch != nil && p.err == nil {
		p.send()
	}
	for len(p.sent) > 0 {
		p.takeOver()
	}
	return p.err
}

// takeOver waits for the first batch, and takes over its pieces unless there was an earlier error.
func (p *pieces) takeOver() {
	b := p.sent[0]
	<-b.done
	p.sent, p.size = p.sent[1:], p.size-b.size
	for i := range b.pieces {
		if p.err != nil {
			return
		}
		if p.err = p.take(&b.pieces[i]); p.err == nil {
			b.pieces[i] = piece{} // frees it unless the visitor kept it
		}
	}
}

func (p *pieces) take(of *piece) (err error) {
	if of.text != nil && p.anchors != nil {
		of.again(p.anchors)
	}
	switch {
	case of.ends:
		return p.endDocument(of)
	case of.syntax && of.inItem:
		return fmt.Errorf("%w (object %d)", of.err, p.stream.objects+1)
	case of.syntax:
		return of.err
	case of.err != nil:
		err = of.err
	case of.inItem:
		err = p.stream.item(&p.list, &of.fields.wire)
	case !of.null:
		err = p.setFields(of)
	}
	if err == nil {
		err = p.learn(of.anchors)
	}
	p.line = of.line
	if err != nil {
		return fmt.Errorf("line %d: %w", of.line, err)
	}
	return nil
}

// setFields takes over the fields of a document before or after its items.
func (p *pieces) setFields(of *piece) error {
	p.fields, p.some = of.fields, true
	if p.fields.Kind != "" {
		p.list.kind = p.fields.Kind
	}
	if of.state == after && p.fields.Items != nil {
		return errors.New("items is there twice")
	}
	return nil
}

// endDocument takes over the contents of the document.
func (p *pieces) endDocument(of *piece) error {
	if of.state == before && !p.some {
		return nil
	}
	line := p.line
	var err error
	switch {
	case of.state != before:
		line, err = of.line, p.list.end()
	case p.fields.Items == nil:
		err = p.stream.document(&p.fields.wire)
	default:
		err = p.stream.items(&p.list, p.fields.Items)
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	p.document, p.documents = document{}, p.documents+1
	return nil
}
