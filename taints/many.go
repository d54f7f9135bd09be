package taints

import v1 "k8s.io/api/core/v1"

// manyPairs is from how many pairs of a taint and a toleration on an index pays for itself. Real pods and nodes have a
// handful of each; an object may have tens of thousands, and looking at each pair would then take seconds.
const manyPairs = 1 << 12

// index finds the first of many tolerations that matches a NoExecute taint.
type index struct {
	first   map[indexed]int // of the tolerations that any taint of this key and value matches
	numeric []int           // tolerations that compare values
	all     []v1.Toleration
	numbers bool // numeric operators count
}

// indexed is a key, or none for every key, with a value or, for Exists, with every value.
type indexed struct {
	key, value string
	exists     bool
}

// indexOf returns nil if that many taints are compared sooner one by one.
func indexOf(taints int, tolerations []v1.Toleration, numeric bool) *index {
	if taints*len(tolerations) < manyPairs || taints < 2 {
		return nil
	}
	x := &index{numbers: numeric, first: make(map[indexed]int, len(tolerations)), all: tolerations}
	for i := range tolerations {
		t := &tolerations[i]
		if t.Effect != "" && t.Effect != v1.TaintEffectNoExecute {
			continue
		}
		of := indexed{t.Key, t.Value, false}
		switch t.Operator {
		case v1.TolerationOpExists:
			of = indexed{t.Key, "", true}
		case "", v1.TolerationOpEqual:
		default:
			x.numeric = append(x.numeric, i)
			continue
		}
		if _, known := x.first[of]; !known {
			x.first[of] = i
		}
	}
	return x
}

// using is the function using.
func (x *index) using(taint *v1.Taint) int {
	used := -1
	for _, of := range [...]indexed{{taint.Key, taint.Value, false}, {taint.Key, "", true}, {"", taint.Value, false}, {"", "", true}} {
		if i, ok := x.first[of]; ok && (used < 0 || i < used) {
			used = i
		}
	}
	for _, i := range x.numeric {
		if used >= 0 && i > used {
			break
		}
		if Tolerates(&x.all[i], taint, x.numbers) {
			return i
		}
	}
	return used
}
