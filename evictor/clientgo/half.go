package clientgo

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evictkit/evictkit/evictor"
)

var halfNames = [...]string{evictor.Both: "Both", evictor.Lifecycle: "Lifecycle", evictor.TaintEviction: "TaintEviction"}

// lifecycle says whether the evictors that are fed may watch and write nodes.
func (o Options) lifecycle() bool { return o.Half != evictor.TaintEviction }

// serves returns an error if an evictor of that configuration needs more than Half provides.
func (o Options) serves(config evictor.Config) error {
	switch {
	case o.Half == evictor.Both, o.Half == config.Half && (o.Half != evictor.Lifecycle || config.TaintBasedEviction):
		return nil
	case o.Half == config.Half:
		return field.Invalid(field.NewPath("half"), halfNames[o.Half], "is not enough for an evictor without taintBasedEviction, which deletes pods")
	default:
		return field.Invalid(field.NewPath("half"), halfNames[o.Half], "is not enough for an evictor of another half")
	}
}
