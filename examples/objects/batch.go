package objects

import (
	"encoding/json"
	"errors"

	kjson "sigs.k8s.io/json"
)

// batch is a number of pieces that are parsed together.
type batch struct {
	text   []byte
	size   int // of the text, which is dropped once it is parsed
	pieces []piece
	done   chan struct{}
}

// piece is one item, the fields of a document before or after its items, or the end of a document.
type piece struct {
	from, to int // in the batch's text
	line     int // its first line; for the end of a document, the last one
	inItem   bool
	ends     bool
	state    state

	// The result of parsing it.
	fields  fields
	anchors anchors
	null    bool // it is empty
	err     error
	syntax  bool   // so that err names its line
	text    []byte // to be parsed again, because it refers to an anchor that it has not; else nil
}

// fields are those of an item, or of a document that was not cut into items.
type fields struct {
	wire
	Items json.RawMessage `json:"items"`
}

// parse parses all pieces.
func (b *batch) parse() {
	defer close(b.done)
	for i := range b.pieces {
		if p := &b.pieces[i]; !p.ends {
			p.parse(b.text[p.from:p.to])
		}
	}
	b.text = nil
}

func (p *piece) parse(text []byte) {
	object, its, err := toJSON(text, p.line)
	if err != nil && unknownAnchor.MatchString(err.Error()) {
		p.text = text
	}
	p.use(object, its, err)
}

// use takes over what the text says.
func (p *piece) use(object []byte, its anchors, err error) {
	p.anchors = its
	switch {
	case err != nil:
		p.err, p.syntax = err, true
	case object[0] != '{' && string(object) != "null":
		p.err = errors.New("not an object, but plain text: kubectl get writes objects with -o yaml")
	case string(object) == "null":
		p.null = true
	default:
		p.err = kjson.UnmarshalCaseSensitivePreserveInts(object, &p.fields)
	}
	if p.err == nil && p.fields.Kind != "" && p.fields.Items == nil {
		p.fields.decoded = decode(&p.fields.wire)
	}
}
