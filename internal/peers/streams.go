package peers

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

//go:embed java/pom.xml
var pom []byte

//go:embed java/Streams.java
var source []byte

// The assignors of Kafka Streams.
const (
	HighAvailability = "ha"
	Sticky           = "sticky"
)

var (
	// ErrTooSlow says that there was no answer in time.
	ErrTooSlow = errors.New("no answer in time")
	// ErrNoJava says that a tool that Kafka Streams' assignors need is missing, or that Maven could not get them.
	ErrNoJava = errors.New("it takes Java 17 or later and Maven")
)

// patience is for what is not measured: the start of the process, and making its input.
const patience = 2 * time.Minute

// Streams runs Kafka Streams' assignors in a Java process, which measures itself what they take. It ends with this process.
type Streams struct {
	Kafka, Java string // their versions

	classpath string
	dir       string // all files of Maven and Java, but for what Maven keeps in its own cache
	process   *exec.Cmd
	requests  io.WriteCloser
	answers   chan string
}

// NewStreams has Maven fetch what java/pom.xml names, and starts the process. It fails with [ErrNoJava] where java or mvn is
// missing, or Maven cannot get that.
func NewStreams(ctx context.Context) (*Streams, error) {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoJava, err)
		}
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	s := &Streams{dir: dir}
	err = s.fetch(ctx)
	if err == nil {
		err = s.askVersions(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// jvm keeps a virtual machine from writing anywhere but into the directory.
func (s *Streams) jvm() []string { return []string{"-XX:-UsePerfData", "-Djava.io.tmpdir=" + s.dir} }

func (s *Streams) fetch(ctx context.Context) error {
	for name, content := range map[string][]byte{"pom.xml": pom, "Streams.java": source} {
		if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
			return err
		}
	}
	fetch := exec.CommandContext(ctx, "mvn", "--quiet", "--batch-mode", "dependency:build-classpath")
	fetch.Dir = s.dir
	fetch.Env = append(os.Environ(), "MAVEN_OPTS="+strings.Join(append(s.jvm(), os.Getenv("MAVEN_OPTS")), " "))
	if said, err := fetch.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: mvn: %w\n%s", ErrNoJava, err, bytes.TrimSpace(said))
	}
	classpath, err := os.ReadFile(filepath.Join(s.dir, "target", "classpath"))
	s.classpath = strings.TrimSpace(string(classpath))
	return err
}

func (s *Streams) askVersions(ctx context.Context) error {
	words, err := s.ask(ctx, patience, "version")
	if err == nil && len(words) != 2 {
		err = fmt.Errorf("streams: the versions are %q", words)
	}
	if err == nil {
		s.Kafka, s.Java = words[0], words[1]
	}
	return err
}

// Close ends the process and removes its files.
func (s *Streams) Close() error {
	s.stop()
	return os.RemoveAll(s.dir)
}

func (s *Streams) start() error {
	s.process = exec.Command("java", append(s.jvm(), "-Xmx6g", "-cp", s.classpath, filepath.Join(s.dir, "Streams.java"))...)
	s.process.Stderr = os.Stderr
	out, err := s.process.StdoutPipe()
	if err == nil {
		s.requests, err = s.process.StdinPipe()
	}
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		s.process = nil
		return err
	}
	s.answers = make(chan string, 1)
	go func(answers chan string) {
		defer close(answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			answers <- lines.Text()
		}
	}(s.answers)
	return nil
}

func (s *Streams) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // it was killed, and says so
	s.process = nil
}

// ask sends one request and returns the words of its answer. A process that does not answer in time is stopped, and the next
// request starts another.
func (s *Streams) ask(ctx context.Context, limit time.Duration, request string) ([]string, error) {
	if s.process == nil {
		if err := s.start(); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(s.requests, request)
	select {
	case line, ok := <-s.answers:
		if !ok {
			s.stop()
			return nil, errors.New("streams: the process has ended")
		}
		answer, ok := strings.CutPrefix(line, "ok ")
		if !ok {
			return nil, fmt.Errorf("streams: %s: %s", request, line)
		}
		return strings.Fields(answer), nil
	case <-ctx.Done():
		s.stop()
		return nil, ctx.Err()
	case <-time.After(limit):
		s.stop()
		return nil, ErrTooSlow
	}
}

// numbers are those of an answer.
func (s *Streams) numbers(ctx context.Context, n int, limit time.Duration, request string) ([]int64, error) {
	words, err := s.ask(ctx, limit, request)
	if err != nil {
		return nil, err
	}
	if len(words) < n {
		return nil, fmt.Errorf("streams: %s: %q, want %d numbers", request, words, n)
	}
	got := make([]int64, n)
	for i := range got {
		if got[i], err = strconv.ParseInt(words[i], 10, 64); err != nil {
			return nil, fmt.Errorf("streams: %s: %q: %w", request, words, err)
		}
	}
	return got, nil
}

// Time is the processor time that an assignor takes for one round of a case. It fails with [ErrTooSlow] where there is no decision
// within the limit, which is of the clock.
func (s *Streams) Time(ctx context.Context, name string, c measure.Case, limit time.Duration) (time.Duration, error) {
	if _, err := s.ask(ctx, patience, request("prepare", name, c)); err != nil {
		return 0, err
	}
	got, err := s.numbers(ctx, 1, limit, "decide")
	if err != nil {
		return 0, err
	}
	return time.Duration(got[0]), nil
}

// Settle lets an assignor run to its end, as [Settle] does. It fails with [ErrTooSlow] where it is not there within the limit.
func (s *Streams) Settle(ctx context.Context, name string, c measure.Case, limit time.Duration) (Settled, error) {
	got, err := s.numbers(ctx, 3, limit, request("end", name, c))
	if err != nil {
		return Settled{}, err
	}
	return Settled{Rounds: int(got[0]), Moves: int(got[1]), Cold: int(got[2])}, nil
}

func request(command, name string, c measure.Case) string {
	return fmt.Sprintf("%s %s %s %d %d %d", command, name, c.State, c.Tasks, c.Members, c.Standbys)
}
