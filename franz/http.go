package franz

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Handler returns the HTTP interface of the instance, for a tool that marks instances:
//
//	GET  /state   the State as JSON
//	POST /leave   tell the instance to leave; it drains in the background, and leaves the group: see Done
//	POST /stay    take that back; 409 where the instance was not leaving, or has left
//
// The answers to POST are the state afterwards. It does no authentication: mount it where only operators get.
func (b *Balancer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { b.writeState(w, http.StatusOK) })
	mux.HandleFunc("POST /leave", func(w http.ResponseWriter, _ *http.Request) {
		b.drainInBackground()
		b.writeState(w, http.StatusAccepted)
	})
	mux.HandleFunc("POST /stay", func(w http.ResponseWriter, _ *http.Request) {
		status := http.StatusOK
		if !b.Stay() {
			status = http.StatusConflict
		}
		b.writeState(w, status)
	})
	return mux
}

func (b *Balancer) writeState(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(b.State()); err != nil {
		b.config.Logger.Debug("answer not sent", "err", err)
	}
}

// drainInBackground drains, unless a drain is under way. The instance counts as leaving when it returns.
func (b *Balancer) drainInBackground() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left || !b.local.leaving.IsZero() {
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	b.leave(cancel)
	go func() {
		defer cancel(nil)
		err := b.Drain(ctx)
		switch {
		case errors.Is(err, ErrStays):
			err = nil
		case err != nil:
			err = fmt.Errorf("franz: the drain has failed, tell the instance to stay, and to leave again: %w", err)
		}
		b.troubled(TroubleDrain, err)
	}()
}
