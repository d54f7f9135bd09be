package simulation

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Values of API.Answer: what the API answers to each write of the controllers while it fails.
const (
	AnswerForbidden = "forbidden" // 403: a role has lost a permission
	AnswerBusy      = "busy"      // 429
	AnswerInternal  = "internal"  // 500, and nothing was written
	AnswerWritten   = "written"   // 500, and it was written all the same, as after a timeout of etcd
)

// answers has what the API answers to writes, by the value of API.Answer.
var answers = map[string]error{
	AnswerForbidden: apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("the role does not allow it")),
	AnswerBusy:      apierrors.NewTooManyRequestsError("the API is busy"),
	AnswerInternal:  apierrors.NewInternalError(errors.New("nothing was written")),
	AnswerWritten:   apierrors.NewInternalError(errors.New("nobody knows whether it was written")),
}

// refuses returns the answer to a write that is not made.
func (p *player) refuses() error {
	if p.answer == AnswerWritten {
		return nil
	}
	return answers[p.answer]
}

// loses returns the answer to a write that was made.
func (p *player) loses() error {
	if p.answer == AnswerWritten {
		return answers[p.answer]
	}
	return nil
}
