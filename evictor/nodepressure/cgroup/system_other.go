//go:build !linux

package cgroup

import (
	"errors"
	"fmt"
	"runtime"
)

var (
	errRemoved  = errors.New("removed") // never returned here
	unsupported = fmt.Errorf("cannot be measured on %s: %w", runtime.GOOS, errors.ErrUnsupported)
)

func statfs(string) (size, error) { return size{}, unsupported }

func device(string) (uint64, error) { return 0, unsupported }
