// Package figures has no code of its own: its tests compute the figures that documents show, compare them with what the
// documents say, and with -rewrite write them there.
//
//	go test ./internal/figures            fails where a document shows another figure than the simulator gives
//	go test ./internal/figures -rewrite   writes the figures and plots of today
package figures
