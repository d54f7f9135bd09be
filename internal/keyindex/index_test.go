package keyindex

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIndexAgainstAMap(t *testing.T) {
	for seed := range int64(30) {
		r := rand.New(rand.NewSource(seed))
		var x Index[string]
		m := map[string]int32{}
		_, ok := x.Find("nothing")
		require.False(t, ok)
		require.False(t, x.Delete("nothing"))
		for range 3000 {
			key := fmt.Sprint("key-", r.Intn(1+r.Intn(600)))
			number, known := m[key]
			switch r.Intn(3) {
			case 0:
				got, isNew := x.Insert(key)
				require.Equal(t, !known, isNew)
				if known {
					require.Equal(t, number, got)
				}
				m[key] = got
				require.Less(t, int(got), x.Cap())
				require.Equal(t, key, x.Key(got))
			case 1:
				require.Equal(t, known, x.Delete(key))
				delete(m, key)
			case 2:
				got, ok := x.Find(key)
				require.Equal(t, known, ok)
				if known {
					require.Equal(t, number, got)
				}
			}
			require.Equal(t, len(m), x.Len())
		}
		taken := map[int32]bool{}
		for key, number := range m {
			got, ok := x.Find(key)
			require.True(t, ok)
			require.Equal(t, number, got)
			require.False(t, taken[number], "no number twice")
			taken[number] = true
		}
	}
}
