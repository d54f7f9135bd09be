package health

import (
	"fmt"

	"github.com/evictkit/evictkit/internal/steady"
)

// Snapshot returns every key, in any order, for Restore in another process.
func (d *Deadlines[K]) Snapshot() []Status[K] {
	d.lock()
	defer d.guard.Unlock()
	all := make([]Status[K], 0, d.entries.Len())
	for _, e := range d.entries.All() {
		all = append(all, d.status(e))
	}
	return all
}

// Restore tracks the keys of a snapshot, each silent for as long as when it was taken: the time in between does not
// count. A Pause is no part of a snapshot. It fails and tracks nothing if any key is tracked already, or if one appears twice, does not equal itself, has
// a grace period that is not positive, or a negative silence.
func (d *Deadlines[K]) Restore(snapshot []Status[K]) error {
	d.lock()
	defer d.guard.Unlock()
	twice := make(map[K]bool, len(snapshot))
	for _, k := range snapshot {
		why := ""
		switch {
		case twice[k.Key]:
			why = "it is there twice"
		case k.Key != k.Key: //nolint:gocritic // NaN
			why = "it does not equal itself"
		case k.Grace <= 0:
			why = fmt.Sprintf("grace %s must be greater than 0", k.Grace)
		case k.Silent < 0:
			why = fmt.Sprintf("silent %s must not be negative", k.Silent)
		}
		if why != "" {
			return fmt.Errorf("health: cannot restore key %v: %s", k.Key, why)
		}
		twice[k.Key] = true
	}
	if d.entries.Len() > 0 {
		return fmt.Errorf("health: cannot restore beside the %d keys that are tracked already: call Restore first", d.entries.Len())
	}
	for _, k := range snapshot {
		e := d.track(k.Key, int64(k.Grace))
		d.beats.put(e, steady.Sub(d.beats.heard(e.group), int64(k.Silent)))
		if k.HandedOut {
			d.beats.remove(e)
		}
	}
	return nil
}
