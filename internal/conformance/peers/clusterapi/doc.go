// Package clusterapi plays random clusters on Cluster API's own MachineHealthCheck reconciler, with a fake client
// and in virtual time, and on a lasting.Durations with a budget.Budget. It compares which machines are to be
// remediated, and when to look again.
package clusterapi
