package inbox

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func woken[P comparable](b *Inbox[P]) bool {
	select {
	case <-b.Wake():
		return true
	default:
		return false
	}
}

func TestEachKeyOnceInTheOrderOfItsFirstMention(t *testing.T) {
	b := New[int]()
	require.True(t, b.Empty() && !b.Fed() && !woken(b))
	for _, name := range []string{"b", "a", "b", "c", "a"} {
		b.Node(name)
	}
	b.Pod(7)
	b.Pod(7)
	require.True(t, b.Fed() && !b.Empty())
	require.True(t, woken(b), "once, however many came")
	require.False(t, woken(b))
	nodes, pods := b.Take()
	require.Equal(t, []string{"b", "a", "c"}, nodes)
	require.Equal(t, []int{7}, pods)
	require.True(t, b.Empty())

	b.Pod(7)
	require.False(t, b.Empty())
	nodes, pods = b.Take()
	require.Empty(t, nodes)
	require.Equal(t, []int{7}, pods, "it was taken, so that it is new")
}

func TestRoomForVeryManyKeysIsGivenBack(t *testing.T) {
	b := New[int]()
	const many = 65536
	for i := range many {
		b.Node(strconv.Itoa(i))
	}
	nodes, _ := b.Take()
	require.Len(t, nodes, many)
	require.NotNil(t, b.nodes.has, "for so many it is kept")
	for i := range many + 1 {
		b.Node(strconv.Itoa(i))
	}
	nodes, _ = b.Take()
	require.Len(t, nodes, many+1)
	require.Nil(t, b.nodes.has)
	b.Node("0")
	nodes, _ = b.Take()
	require.Equal(t, []string{"0"}, nodes)
}

func TestEarlyLeases(t *testing.T) {
	b := New[int]()
	first, second := Lease{RenewTime: time.Unix(1, 0)}, Lease{RenewTime: time.Unix(2, 0), ResourceVersion: "5"}
	require.True(t, b.Early("a", first))
	require.True(t, b.Early("a", second))
	require.True(t, b.Fed())
	require.True(t, b.Empty(), "it is nothing to look at")
	require.Equal(t, map[string]Lease{"a": second}, b.Leases())
	require.False(t, b.Early("a", first))
	require.Empty(t, b.Leases())
}

// Leases that come while they are taken are either among them or refused.
func TestLeasesThatComeWhileTheyAreTaken(t *testing.T) {
	for range 40 {
		b := New[int]()
		kept := make(chan int)
		go func() {
			n := 0
			for b.Early(strconv.Itoa(n), Lease{}) {
				n++
			}
			kept <- n
		}()
		for !b.Fed() {
			runtime.Gosched()
		}
		require.Len(t, b.Leases(), <-kept)
	}
}

func TestKickNeverBlocks(t *testing.T) {
	b := New[int]()
	b.Kick()
	b.Kick()
	require.True(t, woken(b))
	require.False(t, b.Fed(), "nothing was told")
}
