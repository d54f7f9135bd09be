// Package scenario holds what a scenario file says, what makes one faulty, and the lines of the timeline
// that a simulation of it writes. It reads no files and no YAML, so that every module can use it: who
// loads a file decodes it into a Scenario (the fields carry yaml tags, Duration decodes from text), asks
// Check for all faults at once, and hands Settings and the Scenario to an engine.
//
//	scenario file ── decode ──▶ Scenario ── Check(inventory) ──▶ Settings, Events, Traces ──▶ engine
//	                                                                                           │
//	timeline file ◀── AppendJSON ── sort by Compare ◀──────────────────────────────── Line ◀───┘
//
// Nothing here is safe for concurrent changes; reading from several goroutines is.
package scenario
