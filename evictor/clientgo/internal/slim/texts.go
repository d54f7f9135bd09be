package slim

import (
	"strings"
	"sync"
)

const (
	longestText = 256     // in bytes, of those that are shared
	mostTexts   = 2 << 10 // of each generation
)

// texts are the short texts that many nodes have, such as the keys of their labels, each kept once. The table holds them
// itself, because a text that only weak references know is not shared with what is read after the next collection. It is
// bounded: when a generation is full, those of the one before are forgotten that were not asked for since.
type texts struct {
	mu          sync.Mutex
	now, before map[string]string // guarded by mu; now is nil before the first text
}

// sharedTexts are those of all Clusters.
var sharedTexts texts

// one returns the kept text that is equal to this one.
func (t *texts) one(text string) string {
	if len(text) > longestText {
		return strings.Clone(text)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if kept, ok := t.now[text]; ok {
		return kept
	}
	kept, ok := t.before[text]
	if !ok {
		kept = strings.Clone(text)
	}
	if t.now == nil || len(t.now) == mostTexts {
		t.now, t.before = make(map[string]string), t.now
	}
	t.now[kept] = kept
	return kept
}

// common returns a shared copy of a text that many objects have, cut to what is shared.
func common(text string) string { return sharedTexts.one(text[:min(len(text), longestText)]) }

// short returns a text, cut to 256 bytes, that keeps no longer one alive.
func short(text string) string {
	if len(text) <= longestText {
		return text
	}
	return strings.Clone(text[:longestText])
}
