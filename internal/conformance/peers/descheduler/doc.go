// Package descheduler asks descheduler's own evictor and a budget.Budget for the same random evictions, cycle after
// cycle. It compares which of them each allows, and which limit refuses the others.
package descheduler
