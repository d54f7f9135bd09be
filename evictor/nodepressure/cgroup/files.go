package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// unlimited stands for "max", and for files that are not there.
const unlimited = int64(-1)

// errNoEntry is wrapped by an error about a file that has no such line.
var errNoEntry = errors.New("there is no")

// number reads a file that contains one number or "max". If it does not exist the result is unlimited and
// fs.ErrNotExist.
func number(path string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return unlimited, err
	}
	text := strings.TrimSpace(string(data))
	if text == "max" {
		return unlimited, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return unlimited, fmt.Errorf("%s: %q is not a number", path, text)
	}
	return n, nil
}

// optional is number for files that may be missing.
func optional(path string) (int64, error) {
	n, err := number(path)
	if errors.Is(err, fs.ErrNotExist) {
		return unlimited, nil
	}
	return n, err
}

// entry reads a number from a file of lines such as "inactive_file 4096" or "MemTotal: 4096 kB".
func entry(path, name string) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || strings.TrimSuffix(words[0], ":") != name {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%s: %s: %q is not a number", path, name, words[1])
		}
		if len(words) > 2 && words[2] == "kB" {
			n *= 1024
		}
		return n, nil
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return 0, fmt.Errorf("%s: %w %s", path, errNoEntry, name)
}

// workingSet returns the memory of a cgroup that the kernel could not drop at once.
func workingSet(dir string) (int64, error) {
	usage, err := number(filepath.Join(dir, "memory.current"))
	if err != nil {
		return 0, err
	}
	inactive, err := entry(filepath.Join(dir, "memory.stat"), "inactive_file")
	return max(usage-inactive, 0), err
}
