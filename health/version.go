package health

import (
	"math"
	"strconv"
)

// noStamp stands for no stamp.
const noStamp = math.MinInt64

// version is what is known about the versions of one object.
type version struct {
	number uint64 // the newest resourceVersion, 0 if none
	at     int64  // when it was last seen
	peak   int64  // the latest stamp seen is this one or the last one, whichever is later
}

// see says whether an object with this version and stamp is believed, and whether the stamp is a sign of life. last is
// the one that was so last. An older version than one seen within a grace period comes from a cache that lags behind. After
// that, a backup of etcd may have been restored, so the version is believed, but it is a sign of life only with a stamp
// that no old cache can hold.
func (v *version) see(number uint64, stamp, last, now, grace int64) (believed, alive bool) {
	v.peak = max(v.peak, last)
	older, later, recent := number != 0 && number < v.number, stamp > v.peak, now-v.at < grace
	if older && !later {
		return !recent, false
	}
	if number != 0 && !(older && recent) {
		v.number, v.at = number, now
	}
	return true, stamp != last
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
