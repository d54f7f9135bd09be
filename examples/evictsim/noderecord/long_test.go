package noderecord

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLongLineNamesItsBound(t *testing.T) {
	_, err := NewReader("r", strings.NewReader(strings.Repeat(" ", maxLine+1)))
	require.EqualError(t, err, "r: line 1: the line is longer than 16 MiB")
}
