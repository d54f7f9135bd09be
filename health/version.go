package health

import (
	"math"
	"strconv"
)

// noStamp stands for no stamp.
const noStamp = math.MinInt64

// version is what is known about the versions of one object of one kind.
type version struct {
	number uint64 // the newest resourceVersion seen in its epoch, 0 if none
	epoch  uint32
	ahead  bool  // in this epoch, with an older version, it has shown a stamp that no old cache can hold
	peak   int64 // the latest stamp seen is this one or the last one, whichever is later
}

// epochs compares the versions of the objects of one kind. An object with an older version than one seen before is
// stale: it comes from a cache that lags behind. But if etcd is restored from a backup, the versions of all objects
// fall. A stamp later than any the object ever showed cannot come from an old cache, so it is believed. When several
// objects show such stamps with older versions, a new epoch begins, and versions of earlier epochs no longer count.
type epochs struct {
	number uint32
	ahead  int // how many objects are ahead in this epoch
}

// several is how many objects it takes to prove that versions fell.
const several = 2

// see says whether an object with this version and stamp is believed, and if so, remembers it. last is the stamp seen
// before. alive says whether the stamp is a sign of life: if it differs from last; or, if there is a version but none of
// this epoch to compare it with, only if the stamp is later than all seen.
func (k *epochs) see(v *version, number uint64, stamp, last int64) (believed, alive bool) {
	v.peak = max(v.peak, last)
	switch {
	case number == 0:
		return true, stamp != last
	case v.number == 0 || v.epoch != k.number:
		*v = version{number: number, epoch: k.number, peak: v.peak}
		return true, stamp > v.peak
	case number >= v.number:
		if v.ahead {
			v.ahead = false
			k.ahead--
		}
		v.number = number
		return true, stamp != last
	case stamp <= v.peak:
		return false, false
	}
	if !v.ahead {
		v.ahead = true
		k.ahead++
	}
	if k.ahead == several {
		*k = epochs{number: k.number + 1}
		*v = version{number: number, epoch: k.number, peak: v.peak}
	}
	return true, true
}

// forget drops what is known about an object.
func (k *epochs) forget(v *version) {
	if v.ahead && v.epoch == k.number {
		k.ahead--
	}
}

// parseVersion reads a resourceVersion. Only decimal numbers can be compared; anything else, or nothing, gives 0.
func parseVersion(s string) uint64 {
	if s == "" || s[0] == '0' || s[0] == '+' {
		return 0
	}
	number, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return number
}
