package controlplane

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Request is one that a controller under test sent and the API server answered.
type Request struct {
	Verb     string
	Resource string // with its subresource, as in pods/status
	Name     string
	Code     int
}

// Requests are those of a user, in the order in which they were answered.
func (p *Plane) Requests(user string) ([]Request, error) {
	file, err := os.Open(p.path("audit.log"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var requests []Request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Verb string
			User struct{ Username string }

			ObjectRef      struct{ Resource, Subresource, Name string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			continue // cut off when the API server was killed
		}
		if line.User.Username != user {
			continue
		}
		r := Request{Verb: line.Verb, Resource: line.ObjectRef.Resource, Name: line.ObjectRef.Name, Code: line.ResponseStatus.Code}
		if line.ObjectRef.Subresource != "" {
			r.Resource += "/" + line.ObjectRef.Subresource
		}
		requests = append(requests, r)
	}
	return requests, lines.Err()
}

// String is the request's line in a list of them.
func (r Request) String() string {
	return fmt.Sprintf("%s %s %s: %d", r.Verb, r.Resource, r.Name, r.Code)
}
