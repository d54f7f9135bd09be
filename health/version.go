package health

import (
	"math"
	"strconv"
)

// noStamp stands for no stamp.
const noStamp = math.MinInt64

// version is what is known about the versions of one object.
type version struct {
	peak   int64  // the latest stamp seen is this one or the last one, whichever is later
	number uint64 // the newest resourceVersion, 0 if none
	fell   int64  // when an older one was first seen since, plus one; 0 if none was
}

// see says whether an object with this version and stamp is believed, and whether the stamp is a sign of life. last is
// the one that was so last. An older version comes from a cache that lags behind. If no newer one comes for a grace
// period, a backup of etcd may have been restored, so it is believed, but is a sign of life only with a stamp that no old
// cache can hold.
func (v *version) see(number uint64, stamp, last, now, grace int64) (believed, alive bool) {
	v.peak = max(v.peak, last)
	older, later := number != 0 && number < v.number, stamp > v.peak
	if older && v.fell == 0 {
		v.fell = now + 1
	}
	lags := older && now-v.fell < grace-1
	if older && !later {
		return !lags, false
	}
	if number != 0 && !lags {
		v.number, v.fell = number, 0
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
