package purity

import "strings"

// Layer is a part of the core that stands on the parts below it.
type Layer struct {
	Name  string
	About string
	Files []File
}

// File is a file of the core, or a package below it, and why it is there.
type File struct{ Name, Why string }

// Layers are the files of the core from the top to the bottom: what is read last comes first. A file uses what stands below it, in
// its own layer too, and nothing above it ([CheckLayers]); a new file gets its line here.
var Layers = []Layer{
	{"top", "calls the steps in their order", []File{
		{"doc.go", "the package comment: the model, an example, the cost"},
		{"assignor.go", "`Assign`, `Assignor`, and `decide`: the list of steps"},
	}},
	{"exit", "writes down what is decided, and decides nothing about tasks", []File{
		{"answer.go", "numbers become names again, with the moves"},
		{"deadline.go", "R2.3, R7.7: when the next round must come"},
		{"review.go", "T5, T8: when to look again at what only time can mend"},
	}},
	{"decide", "a step a file; each takes what the one below returns", []File{
		{"member_copies.go", "R8.4: which member of an instance holds each copy"},
		{"revoke.go", "R2.1: who must stop what before it can start elsewhere"},
		{"lists.go", "the tasks of every list of every member"},
		{"standby.go", "R6: which instances keep the copies of each task"},
		{"standby_level.go", "R6.4: the counts of standbys are levelled"},
		{"standby_tags.go", "R6.5: copies differ in their tags"},
		{"standby_whole.go", "R6: tasks with the standbys they want are passed over"},
		{"standby_places.go", "who keeps which standby so far, and who may keep one"},
		{"member_tasks.go", "R8.1 to R8.3: which member of an instance runs each task"},
		{"stateless.go", "R4.3, R5.7: tasks without state move by stop and start"},
		{"learner_slots.go", "R5.4, T2, T3: which new learners begin at once"},
		{"learner.go", "R3.2, R5: which learners stay, and who learns what"},
		{"learner_pick.go", "R5.2: which tasks an instance gives up, in which order"},
		{"orphan.go", "R1.5: tasks that nobody had"},
		{"active.go", "R1.1 to R1.4: who runs what somebody had, or has state of"},
	}},
	{"balance", "R4: how many tasks each instance should have, and which", []File{
		{"balance_deal.go", "which tasks make up the counts: subtopologies are spread"},
		{"balance.go", "targets, from what instances have"},
		{"balance_weight.go", "the same for tasks of several weights"},
	}},
	{"state", "what a step changes, and counts of it", []File{
		{"tally.go", "what a plan gives each instance"},
		{"plan.go", "what is decided of each task so far"},
	}},
	{"facts", "what is so, whatever is decided; each embeds the one below it", []File{
		{"leaving.go", "R7: how long tasks may stay or wait; whom to tell to leave"},
		{"copies.go", "who has state of what, and how far behind it is"},
		{"claims.go", "R0: who runs what, as far as members and memory say"},
		{"history.go", "the memory of the last round; `Recover` rebuilds it"},
		{"tags.go", "R6.5: which values of the tags instances share"},
		{"group.go", "members and instances become dense numbers"},
		{"kinds.go", "which tasks are levelled together"},
		{"topology.go", "tasks become dense numbers"},
	}},
	{"beside", "stands on the API alone, apart from what is above", []File{
		{"check.go", "the guarantees I1 to I6, checked on an answer from the outside"},
		{"encoding_limit.go", "all payloads of a group within one limit"},
		{"encoding.go", "the format, at its head, and what the API has of it"},
		{"encoding_values.go", "reports and assignments as bytes"},
		{"encoding_memory.go", "the memory as bytes"},
		{"encoding_head.go", "what encodings of a member share: flags, names, tags"},
		{"encoding_columns.go", "copies: tasks, then lags and ages as columns"},
		{"encoding_lists.go", "lists of tasks, as sets"},
		{"encoding_wire.go", "numbers, strings, fields; a reader whose error sticks"},
	}},
	{"API", "what members and leaders say to each other, without a decision", []File{
		{"handover.go", "what a member reports next"},
		{"rejoin.go", "when a member asks for a round"},
		{"text.go", "reports and answers as rows"},
		{"config.go", "what the leader knows, and what it refuses"},
		{"report.go", "what members report, and what they are told"},
		{"move.go", "every decision with its reason"},
		{"task.go", "the name of a task"},
	}},
	{"ground", "knows nothing of members", []File{
		{"scratch.go", "the arrays that a round works in"},
		{"internal/level", "fair shares and targets, in integers"},
		{"internal/taskset", "sets of integers as bytes, in the shortest form"},
	}},
}

// Table returns layers as CONTRIBUTING.md shows them.
func Table(layers []Layer) string {
	var b strings.Builder
	b.WriteString("| layer, file | what it is |\n|---|---|\n")
	for _, layer := range layers {
		b.WriteString("| **" + layer.Name + "** | " + layer.About + " |\n")
		for _, file := range layer.Files {
			b.WriteString("| `" + file.Name + "` | " + file.Why + " |\n")
		}
	}
	return b.String()
}
