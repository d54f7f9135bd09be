package differential

import (
	"fmt"
	"testing"
	"github.com/stretchr/testify/require"
)

func TestShow(t *testing.T) {
	if *one == "" { t.Skip() }
	c, err := Open(*one)
	require.NoError(t, err)
	p, r, err := oracles.Check(t.Context(), c, Against(*against))
	require.NoError(t, err)
	for _, l := range p.Ours { fmt.Println("O", string(l.AppendJSON(nil))) }
	for _, l := range p.Upstream { fmt.Println("U", string(l.AppendJSON(nil))) }
	for _, d := range p.Decisions { fmt.Println("D", d.Kind, d.String()) }
	for _, l := range r.Unexplained { fmt.Println("X", l) }
}
