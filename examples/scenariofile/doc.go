// Package scenariofile reads scenario files and capacity traces. It is strict: unknown fields, invalid durations,
// duplicate keys and a second document are errors that name the field and its line. All such errors of a file are
// reported at once.
//
// A loaded scenario includes its traces. Its object files are named by usable paths; the caller reads them (package
// objects), and scenario.Check then finds the other faults.
package scenariofile
