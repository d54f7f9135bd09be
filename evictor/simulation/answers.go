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

// outcome returns whether the API makes a write now, and what it answers.
func (p *player) outcome() (made bool, answer error) {
	return p.answer == "" || p.answer == AnswerWritten, answers[p.answer]
}

// reach fails while controllers do not reach the API.
func (p *player) reach() error {
	if p.apiDown {
		return errAPIDown
	}
	if made, answer := p.outcome(); !made {
		return answer
	}
	return p.mayWrite()
}

// mayWrite returns an error while nobody leads.
func (p *player) mayWrite() error {
	if p.leader.vacant {
		return errNotLeading
	}
	return nil
}
