package franz

import "github.com/twmb/franz-go/pkg/kgo"

// Fallbacks returns the balancers that Opts offers beside the Balancer itself.
func (b *Balancer) Fallbacks() []kgo.GroupBalancer { return b.balancers()[1:] }
