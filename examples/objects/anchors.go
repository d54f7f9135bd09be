package objects

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// anchors are what the anchors of a document stand for, as JSON.
type anchors map[string][]byte

var errAnchored = errors.New("too much text has anchors")

var (
	unknownAnchor = regexp.MustCompile(`unknown anchor '.*' referenced`)
	alias         = regexp.MustCompile(`\*([^\s,\[\]{}]+)`)
)

// again parses a piece again that refers to anchors of earlier pieces: these stand before it then. If it refers to others, too, its
// error stays.
func (p *piece) again(known anchors) {
	var head bytes.Buffer
	head.WriteString("anchors: [")
	defined := make(map[string]bool)
	for _, match := range alias.FindAllSubmatch(p.text, -1) {
		name := string(match[1])
		if value, is := known[name]; is && !defined[name] {
			defined[name] = true
			fmt.Fprintf(&head, "&%s %s, ", name, value)
		}
	}
	head.WriteString("]\n")
	if p.inItem {
		head.WriteString("item:\n")
	}
	root, err := parse(slices.Concat(head.Bytes(), p.text), p.line)
	if err != nil {
		return
	}
	size, start := len(p.text), p.line-bytes.Count(head.Bytes(), []byte("\n"))
	p.text, p.err, p.syntax = nil, nil, false
	if p.inItem {
		p.use(convert(root.Content[len(root.Content)-1], start, size))
		return
	}
	root.Content = root.Content[2:]
	p.use(convert(root, start, size))
}

// learn adds the anchors of a piece to those of its document.
func (d *document) learn(more anchors) error {
	for name, value := range more {
		d.anchored += len(value) - len(d.anchors[name])
		if d.anchors == nil {
			d.anchors = make(anchors)
		}
		d.anchors[name] = value
	}
	if d.anchored > MaxObject {
		return errAnchored
	}
	return nil
}
