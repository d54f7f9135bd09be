package outbox

// Ring keeps the last Size things; what repeats the newest one about somebody is one thing with it.
type Ring[D any, S comparable] struct {
	Size int
	// About is whom a thing is about, and whether it may repeat.
	About func(*D) (about S, may bool)
	// Repeat makes one of two things that may repeat, of which the first was the newest about somebody; false when they are two.
	Repeat func(first, next D) (one D, same bool)

	kept   []D // it grows up to Size
	oldest int
	newest map[S]int // where the newest about somebody is, if it is one that may repeat
}

func (r *Ring[D, S]) add(d D) {
	if r.Size == 0 {
		return
	}
	about, may := r.About(&d)
	if at, ok := r.newest[about]; ok && may {
		if one, same := r.Repeat(r.kept[at], d); same {
			r.kept[at] = one
			return
		}
	}
	at := len(r.kept)
	if at < r.Size {
		r.kept = append(r.kept, d)
	} else {
		at = r.oldest
		if old, _ := r.About(&r.kept[at]); r.newest[old] == at {
			delete(r.newest, old)
		}
		r.kept[at] = d
		r.oldest = (at + 1) % r.Size
	}
	delete(r.newest, about)
	if may {
		if r.newest == nil {
			r.newest = make(map[S]int)
		}
		r.newest[about] = at
	}
}
