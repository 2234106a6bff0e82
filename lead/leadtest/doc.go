// Package leadtest plays the life of a group against the code that connects sessions (package lead) to a transport and to tasks. What
// happens is drawn from a seed: reports come twice, of a former life or of another version; answers are lost, late, doubled and out of
// order; two members lead one round; a leader dies between deciding and delivering; members come and go, drain, are dropped by
// the group, return to the place of their former life; clocks jump. The ground truth is a [Ledger] of who runs what. A fault
// comes with the history so far, in the rows of scenario files, and its seed plays it again.
//
// [Play] has a transport of its own, which breaks what it may by the contract of package lead. A test of a real transport implements
// [Cluster], tells a [Ledger] what starts and stops, and plays a [Script] on it.
package leadtest
