package clientgo

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evictkit/evictkit/evictor"
)

var halfNames = [...]string{evictor.Both: "Both", evictor.Lifecycle: "Lifecycle", evictor.TaintEviction: "TaintEviction"}

// lifecycle says whether an evictor that is fed may watch and write nodes.
func (o Options) lifecycle() bool { return o.Half != evictor.TaintEviction }

// serves is an error when such an evictor needs what is not watched or permitted.
func (o Options) serves(config evictor.Config) error {
	switch {
	case o.Half == evictor.Both, o.Half == config.Half && (o.Half != evictor.Lifecycle || config.TaintBasedEviction):
		return nil
	case o.Half == config.Half:
		return field.Invalid(field.NewPath("half"), halfNames[o.Half], "is too little for an evictor without taintBasedEviction, which deletes pods")
	default:
		return field.Invalid(field.NewPath("half"), halfNames[o.Half], "is too little for an evictor of another half")
	}
}
