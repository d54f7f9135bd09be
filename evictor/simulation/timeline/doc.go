// Package timeline has the lines that a simulation writes: one for each write to the API, each event and each change of
// a zone, as JSON.
//
//	{"t":66.000,"kind":"taint","node":"a-000","key":"node.kubernetes.io/unreachable","effect":"NoExecute","op":"add"}
//
// Scenario.Timeline of package simulation gets the lines in their final order; To writes them. Parse reads a line back.
// examples/scenariofile/SCENARIO.md describes the fields of each Kind.
//
//	s.Timeline = timeline.To(os.Stdout)
//
// Nothing here is safe for concurrent changes, but reading from several goroutines is.
package timeline
