// Package clockcases is for tests. It has a clock whose wall clock can be set forward and back while time goes on, as
// an administrator, a time service or a virtual machine that wakes up does. It also lists the cases that every package
// that keeps time must pass.
//
// A Clock with monotonic readings shows times as the real clock does: their differences are the time that passed,
// whatever the wall clock shows, and Round(0) leaves what an API object would contain. A Clock without them shows only
// the wall clock. Timers wait for time to pass, as the kernel's do, and not for the wall clock.
package clockcases
