package scenariofile

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// MaxSize is the size limit of a scenario file or a trace, in bytes. Larger ones are not parsed.
const MaxSize = 16 << 20

// Set changes one field of a scenario's text before it is decoded. Path names the field from the outermost one on, with
// dots between: until, config.nodeEvictionRate, cluster.zones.a.nodes (an item of a list by its name, or by its number
// from 1). Missing parents are added. Value is YAML.
type Set struct {
	Path, Value string
	// Flag is how errors name the change, as a user has typed it: --until 10m. Empty means --set PATH=VALUE.
	Flag string
}

// Load reads a scenario file, with the changes, and the traces that it names. Relative paths in it are relative to the
// file; the result has paths that can be opened from here. Errors name the file and, if known, the line. All faults of
// the file are reported, joined.
func Load(path string, sets ...Set) (*Scenario, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Complete(path, data, filepath.Dir(path), sets...)
}

// Complete is Load for text from elsewhere. Errors begin with the name, and relative paths are relative to dir.
func Complete(name string, data []byte, dir string, sets ...Set) (*Scenario, error) {
	s, root, err := parse(name, data, sets)
	if err != nil {
		return nil, err
	}
	resolve := func(file *string) {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(dir, *file)
		}
	}
	for i := range s.Cluster.Files {
		resolve(&s.Cluster.Files[i])
	}
	c := checker{root: root}
	c.check(s)
	for i := range s.Availability {
		driver := &s.Availability[i]
		resolve(&driver.File)
		if driver.Gap, driver.Alive, err = LoadTrace(driver.File); err != nil {
			c.add(err, "availability", strconv.Itoa(i+1), "file")
		}
	}
	if len(c.faults) > 0 {
		return nil, join(name, c.faults, sets)
	}
	return s, nil
}

// LoadTrace reads a capacity trace, {"metadata":{"gap_seconds":600},"data":[16,15,…]}: the time between two values, and the
// values. Other fields are ignored, because recorders add their own. Errors name the file; a simulation checks the rest.
func LoadTrace(path string) (gap time.Duration, alive []int, err error) {
	data, err := readFile(path)
	if err != nil {
		return 0, nil, err
	}
	var file struct {
		Metadata struct {
			GapSeconds int `json:"gap_seconds"`
		} `json:"metadata"`
		Data []int `json:"data"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	if most := int64(math.MaxInt64 / time.Second); file.Metadata.GapSeconds <= 0 || int64(file.Metadata.GapSeconds) > most {
		return 0, nil, fmt.Errorf("%s: gap_seconds %d is not a positive number of seconds", path, file.Metadata.GapSeconds)
	}
	if len(file.Data) == 0 {
		return 0, nil, fmt.Errorf("%s: data is empty", path)
	}
	return time.Duration(file.Metadata.GapSeconds) * time.Second, file.Data, nil
}

// readFile reads a file of at most MaxSize bytes; a larger one is an error.
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
