package gate

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	require.Equal(t, []Do{"Write", "Harm", "Turn", "Evict"}, []Do{Write, Harm, Turn, Evict})
}

func TestResumeSaysWhetherThereWasThatReason(t *testing.T) {
	p := &Pause{}
	p.Pause("incident")
	require.False(t, p.Resume("maintenance"))
	require.True(t, p.Resume("incident"))
	require.False(t, p.Resume("incident"))
}

// The reasons are the caller's to change.
func TestReasonsInForce(t *testing.T) {
	p := &Pause{}
	p.Pause("incident")
	p.Pause("maintenance")
	p.Pause("incident")
	reasons := p.Paused()
	require.Equal(t, []string{"incident", "maintenance"}, reasons)
	reasons[0] = "none"
	require.ErrorContains(t, p.May(context.Background(), Act{Do: Harm}), "incident")
}

func TestReasonsSideBySide(t *testing.T) {
	p := &Pause{}
	var calls sync.WaitGroup
	for i := range 4 {
		calls.Add(1)
		go func() {
			defer calls.Done()
			reason := fmt.Sprint(i)
			for range 1000 {
				p.Pause(reason)
				_ = p.May(context.Background(), Act{Do: Harm})
				p.Resume(reason)
			}
			p.Pause(reason)
		}()
	}
	calls.Wait()
	require.ElementsMatch(t, []string{"0", "1", "2", "3"}, p.Paused())
}
