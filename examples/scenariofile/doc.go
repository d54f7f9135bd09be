// Package scenariofile reads scenario files and capacity traces. It is strict: unknown fields, invalid durations,
// duplicate keys and a second document are errors with the file, the line and the field. All such errors of a file are
// reported at once.
//
// A file decodes into the events and zones of package simulation. A loaded Scenario includes its traces, and names its
// object files by usable paths; Simulation returns what simulation.Play plays, which finds the other faults;
// Locate adds their lines.
//
//	s, err := scenariofile.Load("outage.yaml")
//	…
//	played, left := s.Simulation(ctx, nil)
//	report, err := simulation.Play(ctx, played) // see Locate
//	breaches := scenariofile.Breaches(report, s.Expect)
package scenariofile
