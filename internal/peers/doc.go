// Package peers measures the library against what others do on the same work: franz-go's cooperative-sticky balancer, sarama's
// sticky strategy, and Kafka Streams' assignors in a Java process. Each decides the rounds of package measure, and is checked to
// decide them right before it is timed. cmd/table prints the comparison.
package peers
