// Package scenariofile reads scenario files and capacity traces. It is strict: a field that the format
// does not have is an error that names the field and its line, and so are text that is no duration, a key
// given twice and a second document. All such errors of a file are reported at once.
//
// A loaded scenario has its traces; its object files are named by usable paths and are read by whoever
// holds them (package objects), after which scenario.Check finds what is wrong with the rest.
package scenariofile
