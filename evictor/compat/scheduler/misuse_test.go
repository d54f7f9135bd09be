package scheduler

import (
	"testing"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"no limiter", misuse.Panic(func() { NewRateLimitedTimedQueue(nil) }),
			"panic: scheduler: NewRateLimitedTimedQueue needs a limiter, such as flowcontrol.NewTokenBucketRateLimiter returns, not nil"},
		{"no function to try", misuse.Panic(func() { NewRateLimitedTimedQueue(flowcontrol.NewFakeAlwaysRateLimiter()).Try(klog.Background(), nil) }),
			"panic: scheduler: Try needs a function that processes a value, not nil"},
	})
}
