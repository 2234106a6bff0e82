package franz

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/incremental-rebalance/assignor"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Described is a member of a group as the coordinator describes it.
type Described struct {
	ID, Client, Host string
	Report           assignor.Member           // of its last join
	Assignment       assignor.MemberAssignment // of the last round
	Err              error                     // why either cannot be read: it is not this balancer's
}

// Describe returns the members of a group, sorted by instance and id, and the coordinator's word for the group's state ("Stable"). It
// needs any client of the cluster, which need not be in the group. It fails where the coordinator cannot be asked, and where
// the group's members agreed on another protocol.
func Describe(ctx context.Context, client *kgo.Client, group string) (members []Described, state string, err error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, "", fmt.Errorf("franz: describe group %s: %w", group, err)
	}
	if len(resp.Groups) != 1 {
		return nil, "", fmt.Errorf("franz: describe group %s: %d answers", group, len(resp.Groups))
	}
	g := resp.Groups[0]
	if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
		return nil, "", fmt.Errorf("franz: describe group %s: %w", group, err)
	}
	if len(g.Members) > 0 && g.Protocol != "" && g.Protocol != Protocol {
		return nil, g.State, fmt.Errorf("franz: group %s is balanced by %s, want %s", group, g.Protocol, Protocol)
	}
	for _, m := range g.Members {
		d := Described{ID: m.MemberID, Client: m.ClientID, Host: m.ClientHost}
		d.Report, d.Assignment, d.Err = readMember(m.ProtocolMetadata, m.MemberAssignment)
		d.Report.ID = m.MemberID
		members = append(members, d)
	}
	slices.SortFunc(members, func(a, b Described) int {
		return cmp.Or(cmp.Compare(a.Report.Instance, b.Report.Instance), cmp.Compare(a.ID, b.ID))
	})
	return members, g.State, nil
}

// readMember reads the payloads of Kafka's consumer protocol. During a round there is no assignment yet: that is no error.
func readMember(metadata, assignment []byte) (report assignor.Member, ma assignor.MemberAssignment, err error) {
	var meta kmsg.ConsumerMemberMetadata
	if err := meta.ReadFrom(metadata); err != nil {
		return report, ma, err
	}
	if err := report.UnmarshalBinary(meta.UserData); err != nil {
		return report, ma, err
	}
	if len(assignment) == 0 {
		return report, ma, nil
	}
	var ka kmsg.ConsumerMemberAssignment
	if err := ka.ReadFrom(assignment); err != nil {
		return report, ma, err
	}
	err = ma.UnmarshalBinary(ka.UserData)
	return report, ma, err
}
