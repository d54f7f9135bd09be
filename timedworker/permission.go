package timedworker

import (
	"errors"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// Pause lets nothing start until Resume with the same reason; reasons add up. What runs goes on, and so do scheduling
// and cancelling; due times stand. It is no permission: nothing is refused.
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

// Resume ends Pause with that reason and says whether there was one.
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

// Kick lets a closed permission be asked again when something is next due or scheduled.
func (s *Set[K, V]) Kick() {
	s.mu.Lock()
	s.closed = nil
	s.kicks++
	s.mu.Unlock()
	s.kick()
}

var errPermissionGoexit = errors.New("timedworker: the permission ended its goroutine by runtime.Goexit")

// permitted asks the permission, unless it was closed a moment ago. No lock is held.
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

// stillPermitted is permitted with s.mu held, but not while it asks.
func (s *Set[K, V]) stillPermitted(now int64) (open bool) {
	s.mu.Unlock()
	defer s.mu.Lock()
	return s.permitted(now)
}

// mayTakeIn asks the permission for what is to be scheduled. No lock is held.
func (s *Set[K, V]) mayTakeIn(now time.Time) bool {
	if s.config.Permission == nil {
		return true
	}
	s.mu.Lock()
	at := s.tick(now)
	s.mu.Unlock()
	return s.permitted(at)
}
