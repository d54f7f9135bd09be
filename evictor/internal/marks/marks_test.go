package marks

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/zone"
)

var a, b = zone.Key{Zone: "a"}, zone.Key{Zone: "b"}

func at(second int) time.Time { return time.Unix(int64(second), 0) }

// world says what nodes need; all have Ready pods unless it says otherwise.
type world map[string]Need

func (w world) look(name string) Need {
	if need, ok := w[name]; ok {
		return need
	}
	return Need{Pods: true}
}

func TestALimitIsKept(t *testing.T) {
	m, w := New(), world{"n1": {Pods: true, Silent: at(9)}, "n2": {Pods: true, Silent: at(3)}, "n3": {Pods: true, Silent: at(5)}, "empty": {}}
	grant := func() string {
		granted, wait := m.Grant(w.look)
		return fmt.Sprint(granted, wait)
	}
	m.Silent("n0", a)
	require.Equal(t, "[n0] []", grant(), "there is no limit")
	m.Limit(a, 2)
	w["n0"] = Need{Pods: true, Marked: true}
	for name := range w {
		m.Silent(name, a)
	}
	m.Silent("other", b)
	require.Equal(t, "[n0 n2 other] [n1 n3]", grant(), "which has begun, and the longest silent")
	require.Equal(t, "[] []", grant(), "told once")
	m.Heard("n0")
	require.Equal(t, "[n3] []", grant())
	require.False(t, m.Granted("n0"))
	m.Moved("n3", b)
	require.Equal(t, "[n1] []", grant())
	require.True(t, m.Granted("n3"), "it takes a place there")
	m.Moved("nobody", b)
	w["n3"] = Need{Pods: true, Marked: true}
	m.Limit(b, 2)
	m.Silent("more", b)
	require.Equal(t, "[more n3] [other]", grant(), "what was granted is looked at again")
	m.Limit(b, 0)
	require.Equal(t, "[more n3 other] []", grant())
	w["empty"] = Need{Pods: true}
	require.Equal(t, "[] []", grant(), "nothing has changed")
	m.Look("empty")
	require.Equal(t, "[] [empty]", grant())
	m.Limit(a, -1)
	for _, name := range []string{"n1", "n2", "n3", "empty", "other", "more"} {
		m.Heard(name)
		m.Heard(name)
	}
	delete(w, "n0")
	m.Silent("n0", a)
	require.Equal(t, "[] [n0]", grant(), "none at all")
	m.Heard("n0")
	m.Limit(a, 0)
	require.Empty(t, m.domains)
	require.Empty(t, m.dirty)
}

// After a restart those whose pods are marked already keep their places.
func TestMarkedBefore(t *testing.T) {
	m, w := New(), world{"n2": {Pods: true, Marked: true}, "n3": {Pods: true, Marked: true}}
	m.Limit(a, 1)
	for _, name := range []string{"n0", "n1", "n2", "n3"} {
		m.Silent(name, a)
	}
	granted, wait := m.Grant(w.look)
	require.Equal(t, []string{"n2"}, granted)
	require.Equal(t, []string{"n0", "n1"}, wait)
}

// Whatever happens: after a Grant, in a domain with a limit as many are granted as it allows, or were granted before.
func TestAgainstAModel(t *testing.T) {
	type node struct {
		domain  zone.Key
		granted bool
	}
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		m, w, nodes, limits := New(), world{}, map[string]*node{}, map[zone.Key]int{}
		for i := range 8 {
			w[fmt.Sprint("n", i)] = Need{Pods: r.Intn(5) > 0, Marked: r.Intn(6) == 0, Silent: at(r.Intn(5))}
		}
		for range 200 {
			name, key := fmt.Sprint("n", r.Intn(8)), []zone.Key{a, b}[r.Intn(2)]
			switch r.Intn(6) {
			case 0:
				most := r.Intn(5) - 1
				for _, n := range nodes {
					n.granted = n.granted && (n.domain != key || most == limits[key])
				}
				limits[key] = most
				m.Limit(key, most)
			case 1, 2:
				m.Silent(name, key)
				if nodes[name] == nil {
					nodes[name] = &node{}
				}
				nodes[name].domain = key
			case 3:
				m.Heard(name)
				delete(nodes, name)
			case 4:
				if m.Moved(name, key); nodes[name] != nil {
					nodes[name].domain = key
				}
			default:
				var order, want []string
				for name := range nodes {
					order = append(order, name)
				}
				slices.SortFunc(order, func(x, y string) int {
					return cmp.Or(later(w[x].Marked, w[y].Marked), w[x].Silent.Compare(w[y].Silent), cmp.Compare(x, y))
				})
				for _, name := range order {
					n, placed := nodes[name], 0
					for _, other := range nodes {
						if other.granted && other.domain == n.domain {
							placed++
						}
					}
					most := limits[n.domain]
					if !n.granted && (most == 0 || w[name].Pods && placed < most) {
						n.granted = true
						want = append(want, name)
					}
				}
				slices.Sort(want)
				granted, wait := m.Grant(w.look)
				require.Equal(t, want, granted)
				for _, name := range wait {
					require.False(t, nodes[name].granted)
				}
			}
			for i := range 8 {
				name := fmt.Sprint("n", i)
				require.Equal(t, nodes[name] != nil && nodes[name].granted, m.Granted(name))
			}
		}
	}
}
