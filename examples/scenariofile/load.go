package scenariofile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/evictkit/evictkit/internal/scenario"
)

// MaxSize is the size in bytes above which a scenario file or a trace is refused before it is parsed.
const MaxSize = 16 << 20

// Load reads a scenario file and the traces it names. Relative paths in it, which are relative to the
// file, come back as paths that can be opened from here. Errors name the file and, where there is one,
// the line; all faults of the file are reported, joined.
func Load(path string) (*scenario.Scenario, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	s, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	resolve := func(file *string) {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(filepath.Dir(path), *file)
		}
	}
	for i := range s.Cluster.Files {
		resolve(&s.Cluster.Files[i])
	}
	var errs []error
	for i := range s.Availability {
		driver := &s.Availability[i]
		resolve(&driver.File)
		if driver.File == "" {
			continue // Check reports it
		}
		if driver.Trace, err = LoadTrace(driver.File); err != nil {
			errs = append(errs, fmt.Errorf("%s: availability %d: %w", path, i+1, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// LoadTrace reads a capacity trace, {"metadata":{"gap_seconds":600},"data":[16,15,…]}; other fields are
// passed over, because recorders add their own. Errors name the file.
func LoadTrace(path string) (*scenario.Trace, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Metadata struct {
			GapSeconds int `json:"gap_seconds"`
		} `json:"metadata"`
		Data []int `json:"data"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	trace, err := scenario.NewTrace(file.Metadata.GapSeconds, file.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return trace, nil
}

// readFile reads at most MaxSize bytes; what is larger is an error.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s: the file is larger than %d MiB", path, MaxSize>>20)
	}
	return data, nil
}
