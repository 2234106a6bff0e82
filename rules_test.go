package assignor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// walkthroughRules are the rules that the walk-throughs show. They are requirements, and their files stay as they are.
var walkthroughRules = map[string]string{
	"empty_group":                           "R1.5, R5.1, R5.2",
	"host_swap":                             "R2.2, R3.1, R7.1, R7.3",
	"leader_crash_before_scaling":           "R0.4, R5.5",
	"leader_crash_before_scaling_recovered": "R0.4, R5.5",
	"leader_crash_during_scaling":           "R1.4, R1.5",
	"scale_down":                            "R2.2, R7.1, R7.3",
	"scale_up":                              "R2.2, R3.1, R5.1",
}

var (
	ruleName  = `[A-Z][0-9]+(?:\.[0-9]+)?`
	ruleStart = regexp.MustCompile(`(?m)^\*\*(` + ruleName + `)\b`)                 // a paragraph of docs/design.md
	ruleGroup = regexp.MustCompile(`(?m)^## (R[0-9]+) `)                            // a section that has several
	ruleLine  = regexp.MustCompile(`^# (` + ruleName + `(?:, ` + ruleName + `)*)$`) // of a scenario's head
	ruleCited = regexp.MustCompile(`\b[RIL][0-9](?:\.[0-9]+)?\b`)
)

// designRules returns the numbered rules of docs/design.md, and the sections that they are in.
func designRules(t *testing.T) (rules, groups []string) {
	t.Helper()
	text, err := os.ReadFile("docs/design.md")
	require.NoError(t, err)
	for _, match := range ruleStart.FindAllSubmatch(text, -1) {
		rules = append(rules, string(match[1]))
	}
	for _, match := range ruleGroup.FindAllSubmatch(text, -1) {
		groups = append(groups, string(match[1]))
	}
	require.Greater(t, len(rules), 40)
	sorted := slices.Clone(rules)
	slices.Sort(sorted)
	require.Len(t, slices.Compact(sorted), len(rules), "a rule is numbered twice")
	return rules, groups
}

// rulesOf returns the rules that the head of a scenario names.
func rulesOf(t *testing.T, path string) []string {
	t.Helper()
	if isRequirement(path) {
		return strings.Split(walkthroughRules[strings.TrimSuffix(filepath.Base(path), ".txt")], ", ")
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, line := range strings.Split(string(text), "\n") {
		if match := ruleLine.FindStringSubmatch(line); match != nil {
			return strings.Split(match[1], ", ")
		}
		if !strings.HasPrefix(line, "#") {
			break
		}
	}
	return nil
}

// TestEveryRuleHasAScenario: every numbered rule of docs/design.md is shown by a scenario whose head names it, in a line such as
// "# R5.2, I1", and every scenario names the rules that it shows.
func TestEveryRuleHasAScenario(t *testing.T) {
	rules, _ := designRules(t)
	shown := map[string]int{}
	for _, path := range scenarioFiles(t) {
		named := rulesOf(t, path)
		if len(named) == 0 {
			t.Errorf("%s: its head names no rule: want a line such as \"# R5.2, I1\"", path)
		}
		for _, rule := range named {
			if !slices.Contains(rules, rule) {
				t.Errorf("%s: docs/design.md has no rule %q", path, rule)
			}
			shown[rule]++
		}
	}
	for _, rule := range rules {
		if shown[rule] == 0 {
			t.Errorf("docs/design.md: no scenario shows %s", rule)
		}
	}
	t.Logf("%d rules in %d scenarios", len(rules), len(scenarioFiles(t)))
}

// TestCitedRulesExist: what comments call R5.2, here and in the packages below, is a rule or a section of docs/design.md.
func TestCitedRulesExist(t *testing.T) {
	rules, groups := designRules(t)
	var files []string
	for _, pattern := range []string{"*.go", "internal/*/*.go", "lead/*.go", "lead/*/*.go", "franz/*.go"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, line := range strings.Split(string(text), "\n") {
			_, comment, _ := strings.Cut(line, "//")
			for _, cited := range ruleCited.FindAllString(comment, -1) {
				if !slices.Contains(rules, cited) && !slices.Contains(groups, cited) {
					t.Errorf("%s: docs/design.md has no rule %s: %s", file, cited, comment)
				}
			}
		}
	}
}
