package placement

// Alike is equal for pods that fit the same nodes: if one finds no node, none of them does.
type Alike struct {
	needs       *Needs
	tolerations string
	labels      *Labels // this and namespace are set only if other pods decide
	namespace   string
	own         uint64 // see ownDomains
}

// Alike returns the key of a pod, and whether other pods decide where it may go.
func (f *Filters) Alike(s *Spec, namespace string) (a Alike, minds bool) {
	a = Alike{needs: s.Needs, tolerations: s.tolerationsKey, own: s.ownDomains()}
	if minds = f.minds(s, namespace); minds {
		a.labels, a.namespace = s.Labels, namespace
	}
	return a, minds
}

// Depends says whether such pods may find a node although none has improved, by what StateOf tells.
func (a *Alike) Depends() bool { return a.needs != nil && len(a.needs.spread)+len(a.needs.alone) > 0 }

// StateOf changes with all that decides where a pod's topology spread lets it go, and whether it may use its claims.
func (f *Filters) StateOf(s *Spec) (state int) {
	for _, c := range s.needs().spread {
		state += c.version + c.extent.version
	}
	if len(s.needs().alone) > 0 {
		state += f.usedVersion
	}
	return state
}

// ownDomains has a bit for each constraint that counts the pod itself.
func (s *Spec) ownDomains() (bits uint64) {
	for i, c := range s.needs().spread {
		if c.selector.Matches(s.Labels.Set()) {
			bits |= 1 << (i % 64)
		}
	}
	return bits
}
