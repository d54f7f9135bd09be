package differential

// Seen is what was seen of a deliberate fault.
type Seen struct {
	Name            string
	Shown, Reported int // scenarios in which our timeline differs from that without it, and of these, in which that is reported
	Evicts          int // those in which an eviction does
	EvictsReported  int
	Swallowed       []uint64       // the seeds in which it is not
	Fired           map[string]int // by which rules more was explained than without it
}
