package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
	"github.com/incremental-rebalance/assignor/internal/peers"
)

// TestMain is the command where a test has it decide a round in a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probeArgument {
		probed(os.Args[2:])
	}
	os.Exit(m.Run())
}

// printed is what the command prints of a small group; it must leave no file behind.
func printed(t *testing.T, o options, which string) string {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	if err := run(t.Context(), &out, o, "100x10", which); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return out.String()
}

// figures are what depends on the machine and the moment.
var figures = regexp.MustCompile(`\d+( \d{3})*(\.\d+)?`)

// Every line of every table has a cell for each column, and all of Go's contenders are in all rows.
func TestMarkdown(t *testing.T) {
	got := printed(t, options{rounds: 1, limit: time.Minute, markdown: true}, "franz,sarama")
	columns, rows := 0, 0
	for line := range strings.Lines(got) {
		if n := strings.Count(line, "|"); n == 0 {
			columns = 0
		} else if columns == 0 {
			columns = n
		} else if rows++; n != columns {
			t.Errorf("%d columns of %d: %s", n, columns, line)
		}
	}
	if rows != 7+7+13+6+13+2 {
		t.Errorf("%d rows", rows)
	}
	got = figures.ReplaceAllString(got, "N")
	for _, want := range []string{
		"| N × N | drain | N | N | N | N | N | N | N | N |\n",
		"| N × N | drain | N | N | N |\n",
		"| N × N | N | leaveN | N | N | N | N | N | N |\n",
		"| franz-go | N / N / N | N / N / N | – | – |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "failed") || strings.Contains(got, "Streams") {
		t.Error(got)
	}
}

// Without Java the rest is printed.
func TestNoJava(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	got := printed(t, options{rounds: 1, limit: time.Nanosecond, markdown: true}, "streams")
	if !strings.Contains(got, "Kafka Streams was not measured: it takes Java 17 or later and Maven: exec") || !strings.Contains(got, "| Assign |") {
		t.Error(got)
	}
}

// Without Markdown a table is text.
func TestTooSlow(t *testing.T) {
	got := printed(t, options{rounds: 1, limit: time.Nanosecond}, "")
	if strings.ContainsAny(got, "|#") || !regexp.MustCompile(` drain .* > 1ns +> 1ns *\n`).MatchString(got) {
		t.Error(got)
	}
}

// A function that fails later is left out of its row alone.
func TestFails(t *testing.T) {
	b := &bench{}
	calls, r := 0, &row{times: map[string][]time.Duration{sarama: {1}, assign: {1}}, notes: map[string]string{}}
	f := b.unlessItFails(t.Context(), r, sarama, func() (time.Duration, error) { calls++; return 0, errors.New("no more") })
	for range 2 {
		if _, err := f(); err != nil {
			t.Error(err)
		}
	}
	if calls != 1 || r.ratio(sarama, assign) != "failed" || r.time(assign) == "failed" || len(b.failures) != 1 {
		t.Errorf("%d calls, %v, %v", calls, r.notes, b.failures)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	if err := run(ctx, &out, options{rounds: 1, limit: time.Minute}, "100x10", "franz"); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Error(err, out.String())
	}
}

func TestProbe(t *testing.T) {
	c := measure.Case{State: measure.Leave10, Tasks: 100, Members: 10}
	for _, f := range contenders {
		if f.inGo == nil {
			continue
		}
		if err := probe(t.Context(), f, c, time.Minute); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
	if err := probe(t.Context(), contenders[0], c, time.Nanosecond); !errors.Is(err, peers.ErrTooSlow) {
		t.Error(err)
	}
	if err := probe(t.Context(), contender{name: "nobody"}, c, time.Minute); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	if c, err := parseSize("1000x10"); err != nil || c.Tasks != 1000 || c.Members != 10 {
		t.Error(c, err)
	}
	for _, size := range []string{"", "1000", "1005x10", "10x100", "10x0", "10x1", "axb"} {
		if _, err := parseSize(size); err == nil {
			t.Errorf("%q is taken", size)
		}
	}
	for _, o := range []options{{limit: 1}, {rounds: 1}} {
		if err := o.parse("100x10", ""); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	o := options{rounds: 1, limit: 1}
	if err := o.parse("100x10", "franz,kafka"); err == nil || !strings.Contains(err.Error(), "kafka") {
		t.Error(err)
	}
}

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0.0046: "0.005", 0.0994: "0.099", 0.0996: "0.10", 0.994: "0.99", 0.996: "1.0", 9.94: "9.9", 9.96: "10", 99.4: "99", 99.6: "100", 1234567: "1 234 567",
	} {
		if got := digits(x); got != want {
			t.Error(fmt.Sprint(x), got, want)
		}
	}
}
