package churn

import (
	"reflect"

	"github.com/incremental-rebalance/assignor"
)

// wireEvery is in how many rounds everything also goes over the wire: one more decision and its encoding, for rounds that are
// like others in this.
const wireEvery = 8

// checkWire decides the round once more from the reports and the memory as they arrive after having been sent, which must come to the
// same, and sends the answer.
func (w *World) checkWire(members []assignor.Member, memory, a *assignor.Assignment) {
	arrived := make([]assignor.Member, len(members))
	for i := range members {
		data, err := members[i].MarshalBinary()
		if err == nil {
			err = arrived[i].UnmarshalBinary(data)
		}
		if err != nil {
			w.failf("the report of %s is not sent: %v", members[i].ID, err)
		}
	}
	if memory != nil {
		data, err := memory.MarshalBinary()
		memory = new(assignor.Assignment)
		if err == nil {
			err = memory.UnmarshalBinary(data)
		}
		if err != nil {
			w.failf("the memory is not sent: %v", err)
		}
	}
	again, err := w.again(arrived, memory, w.config)
	if err != nil || !reflect.DeepEqual(a, again) {
		w.failf("the answer to what came over the wire is another, %v:\n%v", err, again)
	}
	w.sendAnswer(a)
}

// sendAnswer holds what every member gets against what was meant for it, and what the keepers echo against the memory: that comes back
// through Recover, word for word.
func (w *World) sendAnswer(a *assignor.Assignment) {
	payloads, err := a.Encode(0)
	if err != nil {
		w.failf("Encode: %v", err)
	}
	keepers := 0
	for i, payload := range payloads {
		ma, kept, err := assignor.Decode(payload)
		if err != nil {
			w.failf("Decode: %v", err)
		}
		want := a.Members[i]
		if want.Version > 0 && want.Version < assignor.LearnerVersion { // it knows no learners, and so no hand-overs
			want.Handover = nil
		}
		if !reflect.DeepEqual(ma, want) {
			w.failf("%s is sent %v and gets %v", want.Member, want, ma)
		}
		if kept == nil {
			continue
		}
		keepers++
		echoed := assignor.Recover([]assignor.Member{{ID: want.Member, Generation: a.Generation, Memory: kept}})
		sent, _ := a.MarshalBinary()
		back, _ := echoed.MarshalBinary()
		if string(sent) != string(back) {
			w.failf("%s keeps another memory:\n%v", want.Member, echoed)
		}
	}
	if want := min(assignor.MemoryKeepers, len(a.Members)); keepers == 0 || keepers > want {
		w.failf("%d members keep the memory, want at most %d", keepers, want)
	}
}
