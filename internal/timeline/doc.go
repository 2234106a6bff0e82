// Package timeline sees a group from outside, whatever transport it is on: who runs and who learns what, since when, and what
// each event costs. It is what the examples print and draw, and what they fail by.
//
// Of two instances that run one task each says so itself: one that stops a task tells the Watch when it has stopped, before it
// tells anybody else, and one that starts a task tells it when it runs.
package timeline
