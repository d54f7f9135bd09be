package timedworker

import (
	"errors"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// Pause lets nothing start until Resume is called with the same reason. Several reasons may be in force; the same one
// twice is one. Running work goes on, and so do scheduling and cancelling; due times stay. Unlike without permission,
// scheduling is not refused.
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

// Kick ends a refusal: permission is asked again as soon as something is due or scheduled, without waiting for
// PermissionInterval.
func (s *Set[K, V]) Kick() {
	s.mu.Lock()
	s.closed = nil
	s.kicks++
	s.mu.Unlock()
	s.kick()
}

var errPermissionGoexit = errors.New("timedworker: the permission ended its goroutine by runtime.Goexit")

// permitted asks for permission unless a refusal still stands. No lock is held.
func (s *Set[K, V]) permitted(now int64) (open bool) {
	s.mu.Lock()
	closed, kicks := s.closed != nil && now < s.opens, s.kicks
	s.mu.Unlock()
	if closed {
		return false
	}
	err := errPermissionGoexit
	defer func() {
		if value := recover(); value != nil {
			err = s.panicked(nil, "the permission", value)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed, s.opens = err, steady.Add(now, s.config.PermissionInterval)
		if s.kicks != kicks {
			s.opens = now // the answer may be older than the kick
		}
		open = err == nil
	}()
	err = s.config.Permission()
	return
}

// stillPermitted is permitted for callers that hold s.mu, which it releases while it asks.
func (s *Set[K, V]) stillPermitted(now int64) (open bool) {
	s.mu.Unlock()
	defer s.mu.Lock()
	return s.permitted(now)
}

// mayTakeIn asks for permission to schedule. No lock is held.
func (s *Set[K, V]) mayTakeIn(now time.Time) bool {
	if s.config.Permission == nil {
		return true
	}
	s.mu.Lock()
	at := s.tick(now)
	s.mu.Unlock()
	return s.permitted(at)
}
