package health

import "strconv"

// version is what is known of the versions of one object of one kind.
type version struct {
	number uint64 // the newest resourceVersion seen in its epoch, 0 when none
	epoch  uint32
	ahead  bool  // in this epoch it has shown a stamp that no old cache can show, under an older version
	peak   int64 // no stamp was ever later than this one and the last
}

// epochs compares the versions of the objects of one kind. An object of an older version than one seen before is
// stale, as a cache shows it that lags behind. But versions may fall for all: when etcd was restored from a backup. A
// stamp that is later than any that the object ever showed cannot come from an old cache. So it is believed, and when
// several objects show such stamps under older versions, a new epoch begins, in which what was seen before compares
// with nothing.
type epochs struct {
	number uint32
	ahead  int
}

// several is how many objects must show that versions fell.
const several = 2

// see says whether an object of that version and stamp is believed, and remembers it then. last is the stamp seen
// before. The object is alive if its stamp differs from that; but where proven is false, because there is no version
// to compare with, only if it is later than all that were seen.
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

// forget drops what an object has shown.
func (k *epochs) forget(v *version) {
	if v.ahead && v.epoch == k.number {
		k.ahead--
	}
}

// parseVersion reads a resourceVersion. Only decimal numbers can be compared; others, and none, are 0.
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

func formatVersion(number uint64) string {
	if number == 0 {
		return ""
	}
	return strconv.FormatUint(number, 10)
}
