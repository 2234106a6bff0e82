package franz

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// TroubleKind says what a [Trouble] is about: few values, fit for the label of a metric.
type TroubleKind string

const (
	TroubleConfig     TroubleKind = "config"     // the client's options do not fit the Config
	TroubleJoin       TroubleKind = "join"       // the member has not been in the group yet
	TroubleLearner    TroubleKind = "learner"    // learners make no progress
	TroubleMetadata   TroubleKind = "metadata"   // the member's own report cannot be encoded
	TroubleTopics     TroubleKind = "topics"     // a subtopology stays as it is, because of its topics
	TroubleAssignment TroubleKind = "assignment" // what the member was assigned cannot be read
	TroublePlace      TroubleKind = "place"      // the member has lost its place in the group
	TroubleDrain      TroubleKind = "drain"      // a drain in the background has failed
	TroublePanic      TroubleKind = "panic"      // a bug of this package: please report it; what panicked was left out

	// Those of a leader end when it decides a round without them, and when somebody else leads.
	TroubleReport TroubleKind = "report" // what a member reports cannot be read
	TroubleRound  TroubleKind = "round"  // the round cannot be decided, and repeats what is
	TroubleGhosts TroubleKind = "ghosts" // members have tasks of partitions that their topics do not have
	TroubleBudget TroubleKind = "budget" // the group's record is near Config.Budget, and what can wait gives way
)

// leaderTroubles are the kinds that only a leader has.
var leaderTroubles = []TroubleKind{TroubleReport, TroubleRound, TroubleGhosts, TroubleBudget}

// Trouble is something that is not as it should be. It lasts until it is over; where it comes back, it begins anew.
type Trouble struct {
	Kind  TroubleKind `json:"kind"`
	About string      `json:"about,omitempty"` // which of its kind, where there can be several at once
	Text  string      `json:"text"`            // what is wrong, and what to do about it
	Since time.Time   `json:"since"`
	Until time.Time   `json:"until,omitzero"` // when it was over; zero while it lasts
}

// Lasts reports whether the trouble is not over.
func (t Trouble) Lasts() bool { return t.Until.IsZero() }

const (
	// keptTroubles is how many troubles that are over a State lists, the last ones.
	keptTroubles = 16
	// troubleAgain is how long a trouble is not told again whose text changes all the time (a size, a list of members).
	troubleAgain = time.Minute
)

// troubles are what a member has to complain about. They have a lock of their own, which is never held while somebody is told;
// whoever holds the Balancer's lock may read them, and may not change them, because that tells the Observer.
type troubles struct {
	mu  sync.Mutex
	all []complaint // at most one of each Kind and About; those that last by Since, behind those that are over by Until
}

// complaint is a trouble, and when it was last told.
type complaint struct {
	Trouble
	told time.Time
}

// found is what is wrong now, of one kind: the errors by what they are about.
type found map[string]error

// add notes an error, or that there is none.
func (f found) add(about string, err error) {
	if err != nil {
		f[about] = err
	}
}

// note takes over all that is wrong of one kind now: what is new begins, what is no longer there is over. It returns the
// troubles that somebody has to be told of.
func (t *troubles) note(kind TroubleKind, now time.Time, f found) (news []Trouble) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.all {
		c := &t.all[i]
		if c.Kind == kind && c.Lasts() && f[c.About] == nil {
			c.Until = now
			news = append(news, c.Trouble)
		}
	}
	for _, about := range slices.Sorted(maps.Keys(f)) {
		if c, tell := t.complain(kind, about, f[about].Error(), now); tell {
			news = append(news, c)
		}
	}
	t.sort()
	return news
}

// complain begins a trouble, or goes on with it, and reports whether that is worth telling.
func (t *troubles) complain(kind TroubleKind, about, text string, now time.Time) (trouble Trouble, tell bool) {
	i := slices.IndexFunc(t.all, func(c complaint) bool { return c.Kind == kind && c.About == about })
	if i < 0 {
		i = len(t.all)
		t.all = append(t.all, complaint{})
	}
	c := &t.all[i]
	if c.Kind == "" || !c.Lasts() {
		*c = complaint{Trouble{Kind: kind, About: about, Text: text, Since: now}, now}
		return c.Trouble, true
	}
	tell = c.Text != text && now.Sub(c.told) >= troubleAgain
	if tell {
		c.told = now
	}
	c.Text = text
	return c.Trouble, tell
}

// sort puts those that are over first, and drops the oldest of them beyond keptTroubles.
func (t *troubles) sort() {
	slices.SortStableFunc(t.all, func(a, b complaint) int {
		switch {
		case a.Lasts() && b.Lasts():
			return a.Since.Compare(b.Since)
		case a.Lasts():
			return 1
		case b.Lasts():
			return -1
		}
		return a.Until.Compare(b.Until)
	})
	over := 0
	for over < len(t.all) && !t.all[over].Lasts() {
		over++
	}
	t.all = slices.Delete(t.all, 0, max(0, over-keptTroubles))
}

// list returns the troubles: those that are over, then those that last, each in the order in which that began.
func (t *troubles) list() []Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Trouble, len(t.all))
	for i := range t.all {
		list[i] = t.all[i].Trouble
	}
	return list
}

// Trouble returns the texts of the troubles that last, one a line, "" where there are none.
func (s State) Trouble() string {
	var lines []string
	for _, t := range s.Troubles {
		if t.Lasts() {
			lines = append(lines, t.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// trouble makes known all that is wrong of one kind now. Its caller holds no lock.
func (b *Balancer) trouble(kind TroubleKind, f found) {
	for _, t := range b.troubles.note(kind, time.Now(), f) {
		if t.Lasts() {
			b.config.Logger.Warn("trouble", "kind", t.Kind, "about", t.About, "text", t.Text)
		} else {
			b.config.Logger.Info("trouble is over", "kind", t.Kind, "about", t.About,
				"lasted", t.Until.Sub(t.Since))
		}
		b.config.Observer.Trouble(t)
	}
}

// troubled makes known what is wrong of a kind of which there is one trouble at a time, or that it is over (nil).
func (b *Balancer) troubled(kind TroubleKind, err error) {
	f := found{}
	f.add("", err)
	b.trouble(kind, f)
}

// heard is what an assignment says beside what the member is to do.
type heard struct {
	notes
	strange []assignor.TaskID // tasks that the member should run, and knows no topics of
}

// sessionTroubles makes known what is wrong in the session that has just begun, and what no longer is. Unread is what could not
// be read of its assignment.
func (b *Balancer) sessionTroubles(h heard, unread error) {
	b.hear(h.notes)
	topics := found{}
	for _, f := range h.frozen {
		topics.add(fmt.Sprint("subtopology ", f.sub), b.topology.describe(f))
	}
	b.trouble(TroubleTopics, topics)
	b.troubled(TroubleAssignment, unread)
	b.troubled(TroublePlace, nil)
	b.troubled(TroubleJoin, nil)
	b.checkTasks(h.strange)
	if b.Leader() {
		return
	}
	for _, kind := range leaderTroubles {
		b.troubled(kind, nil)
	}
}

// hear takes over what the leader says beside the assignment.
func (b *Balancer) hear(n notes) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alone = n.alone
}

// guard runs f, which is code of this package alone, makes a trouble of a panic in it, and reports whether there was none. What
// the service has kgo or the Balancer call is not guarded: a panic there ends the process, as anywhere in Go.
func (b *Balancer) guard(what string, f func()) bool {
	err := func() (err error) {
		defer recovered(&err)
		f()
		return nil
	}()
	if err != nil {
		err = fmt.Errorf("franz: to %s: %w", what, err)
	}
	b.troubled(TroublePanic, err)
	return err == nil
}

// several returns one error of the errors of several members, naming at most three.
func several(what string, errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	var texts []string
	for _, err := range errs[:min(len(errs), 3)] {
		texts = append(texts, err.Error())
	}
	if more := len(errs) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%s: %s", what, strings.Join(texts, "; "))
}
