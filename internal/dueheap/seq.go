package dueheap

// Seq is the sequence number of a number that is there.
func (h *Heap) Seq(number int32) uint64 { return h.at(h.places.of(number)).seq }
