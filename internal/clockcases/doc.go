// Package clockcases is a kit for tests: a clock whose wall can be set forward and back while time goes on, as
// an administrator, a time service or a virtual machine that wakes up does it, and the cases that every package
// that keeps time has to stand.
//
// A Clock made with monotonic readings shows times as the real clock does: their differences tell the time that
// passed, whatever the wall says, and Round(0) leaves what an object of the API would carry. One made without
// shows the wall alone. Timers wait for time to pass, not for the wall, as those of the kernel do.
package clockcases
