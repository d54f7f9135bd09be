package keyindex

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each visits what is there, in order, also while visit deletes some of it, and right after another key was deleted,
// whose row is then still in use.
func TestEachMayDelete(t *testing.T) {
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		var x Table[int, int]
		known := map[int32]int{}
		for range 30 {
			for range r.Intn(100) {
				key := r.Intn(200)
				number, _ := x.Insert(key)
				*x.At(number) = 2 * key
				known[number] = key
			}
			if key := r.Intn(200); x.Len() > 0 {
				number, ok := x.Find(key)
				require.Equal(t, ok, x.Delete(key))
				delete(known, number)
			}
			visits, last := 0, int32(-1)
			want, goes := len(known), r.Intn(3)
			x.Each(func(number int32, record *int) {
				require.Less(t, last, number)
				visits, last = visits+1, number
				require.Contains(t, known, number)
				require.Equal(t, 2*known[number], *record)
				require.Equal(t, known[number], x.Key(number))
				if r.Intn(3) < goes {
					require.True(t, x.Delete(x.Key(number)))
					delete(known, number)
				}
			})
			require.Equal(t, want, visits)
			require.Equal(t, len(known), x.Len())
		}
	}
}
