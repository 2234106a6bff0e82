package franz

import (
	"encoding/json"
	"net/http"
)

// Handler returns the HTTP interface of the instance, for a tool that marks instances:
//
//	GET  /state   the State as JSON
//	POST /leave   tell the instance to leave; it drains in the background, and leaves the group: see Done
//	POST /stay    take that back; 409 where the instance was not leaving, has left, or is on its way out
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
