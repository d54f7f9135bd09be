package timedworker

import "slices"

// Pause lets nothing start until Resume is called with the same reason. Several reasons may be in force; the same one
// twice is one. Running work goes on, and so do scheduling and cancelling; due times stay.
func (s *Set[K, V]) Pause(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause(reason)
}

func (s *Set[K, V]) pause(reason string) {
	if !slices.Contains(s.pauses, reason) {
		s.pauses = append(s.pauses, reason)
	}
}

// Resume ends a Pause with that reason and reports whether there was one.
func (s *Set[K, V]) Resume(reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.pauses, reason)
	if i < 0 {
		return false
	}
	s.pauses = slices.Delete(s.pauses, i, i+1)
	s.kick()
	return true
}

// Paused returns the reasons in force, oldest first.
func (s *Set[K, V]) Paused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pauses)
}
