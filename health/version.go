package health

// olderVersion says whether resourceVersion a is older than b. Only versions that both are decimal
// numbers can be told apart; anything else, and an empty one, is never older.
func olderVersion(a, b string) bool {
	if !decimal(a) || !decimal(b) {
		return false
	}
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

func decimal(s string) bool {
	if s == "" || s[0] == '0' && len(s) > 1 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
