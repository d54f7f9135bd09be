package simulation

import "errors"

var (
	errOtherUID     = errors.New("the object has another UID")
	errOtherVersion = errors.New("the object has been changed")
)
