package franz

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Fallbacks returns the balancers that Opts offers beside the Balancer itself.
func (b *Balancer) Fallbacks() []kgo.GroupBalancer { return b.balancers()[1:] }

// GroupBalancer returns what kgo calls.
func (b *Balancer) GroupBalancer() kgo.GroupBalancer { return protocol{b} }

// Assigned is what kgo calls when a session has begun.
func (b *Balancer) Assigned(added map[string][]int32) { b.onAssigned(context.Background(), nil, added) }

// Lost is what kgo calls when the member has lost its place.
func (b *Balancer) Lost(lost map[string][]int32) {
	client := unconnected()
	defer client.Close()
	b.onLost(context.Background(), client, lost)
}

// Revoked is what kgo calls when it takes partitions away.
func (b *Balancer) Revoked(revoked map[string][]int32) {
	client := unconnected()
	defer client.Close()
	b.onRevoked(context.Background(), client, revoked)
}

// unconnected returns a client, which connects to nothing before it is asked to.
func unconnected() *kgo.Client {
	client, err := kgo.NewClient()
	if err != nil {
		panic(err)
	}
	return client
}
