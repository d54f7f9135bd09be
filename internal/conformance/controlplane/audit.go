package controlplane

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is a request that a controller under test sent and the API server answered.
type Request struct {
	Verb     string
	Resource string // with its subresource, such as pods/status
	Name     string
	Code     int
	At       time.Time // when it arrived
	Body     string    // only for patches of nodes
}

// Requests returns the requests of a user, in the order of their answers.
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

			ObjectRef                struct{ Resource, Subresource, Name string }
			ResponseStatus           struct{ Code int }
			RequestReceivedTimestamp metav1.MicroTime
			RequestObject            json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			continue // cut off when the API server was killed
		}
		if line.User.Username != user {
			continue
		}
		r := Request{Verb: line.Verb, Resource: line.ObjectRef.Resource, Name: line.ObjectRef.Name, Code: line.ResponseStatus.Code,
			At: line.RequestReceivedTimestamp.Time, Body: string(line.RequestObject)}
		if line.ObjectRef.Subresource != "" {
			r.Resource += "/" + line.ObjectRef.Subresource
		}
		requests = append(requests, r)
	}
	return requests, lines.Err()
}

// String formats the request as one line.
func (r Request) String() string {
	return fmt.Sprintf("%s %s %s: %d", r.Verb, r.Resource, r.Name, r.Code)
}
