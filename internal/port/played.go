package port

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// passed is the line of a test that is not a subtest.
var passed = regexp.MustCompile(`(?m)^--- PASS: (\S+) \(`)

// Play runs the tests and returns the names of those that passed; ours have names that begin with TestOurs. A test that
// fails is an error with its output.
func (b Built) Play() (theirs, ours []string, err error) {
	list, err := exec.Command(b.Program, "-test.list", "^Test").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("listing tests: %w", err)
	}
	out, err := exec.Command(b.Program, "-test.v", "-test.timeout", "10m").CombinedOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("tests: %w\n%s", err, out)
	}
	those := passed.FindAllStringSubmatch(string(out), -1)
	if all := strings.Fields(string(list)); len(all) != len(those) {
		return nil, nil, fmt.Errorf("%d of %d tests passed:\n%s", len(those), len(all), out)
	}
	for _, found := range those {
		of := &theirs
		if strings.HasPrefix(found[1], "TestOurs") {
			of = &ours
		}
		*of = append(*of, found[1])
	}
	return theirs, ours, nil
}
