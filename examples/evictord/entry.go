package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// entry is the question that comes before the first decision: whether the API server is new enough, and permits what the
// flags need. A replica that starts in an outage waits until it can ask. What is wrong for good ends the program.
type entry struct {
	ask    func(context.Context) error
	logger *slog.Logger
	unable atomic.Pointer[error] // why it waits; nil if it does not, or has not asked yet
}

const (
	// askAgain is the time between two tries.
	askAgain = 2 * time.Second
	// believed is how long after an outage a no counts: an API server that starts knows neither accounts nor roles yet.
	believed = time.Minute
	// toldAgain is the time between two reasons that are told: the text of each try may name another port.
	toldAgain = time.Minute
)

// wait returns nil once the answer is yes, or an error that no wait mends, or that of the last try when the context ends.
func (e *entry) wait(ctx context.Context) error {
	told, ill, at := "", time.Time{}, time.Time{}
	for {
		err := e.ask(ctx)
		if mayPass(err) {
			ill = time.Now()
		}
		if err == nil || time.Since(ill) >= believed {
			e.unable.Store(nil)
			return err
		}
		if ctx.Err() != nil {
			return err
		}
		e.unable.Store(&err)
		if text := err.Error(); text != told && time.Since(at) >= toldAgain {
			told, at = text, time.Now()
			e.logger.Warn("the API server does not say yet that this program may run: it waits", "error", err)
		}
		again := time.NewTimer(askAgain)
		select {
		case <-ctx.Done():
			again.Stop()
			return err
		case <-again.C:
		}
	}
}

// partBeside adds to the parts without which this replica does not lead that it could ask.
func (e *entry) partBeside(others func() []clientgo.Part) func() []clientgo.Part {
	return func() []clientgo.Part {
		asked := clientgo.Part{Name: "entry"}
		if why := e.unable.Load(); why != nil {
			asked.Err = *why
		}
		return append(others(), asked)
	}
}

// mayPass says whether there is an error and it is that of an outage: no answer, or that of a server which is ill or
// overloaded. Any other answer, and a server that is not the one that the kubeconfig trusts, is wrong for good.
func mayPass(err error) bool {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		code := answer.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
	}
	_, distrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, unasked := errors.AsType[*url.Error](err)
	_, cut := errors.AsType[net.Error](err) // in the middle of the answer
	return (unasked || cut || errors.Is(err, io.ErrUnexpectedEOF)) && !distrusted
}
