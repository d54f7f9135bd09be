//go:build !linux

package cgroup

import "context"

func (s source) try() error { return unsupported }

func (n *Notifier) run(context.Context, func()) error { return unsupported }
