// Package peers measures the library against what others do on the same work. It has nothing but benchmarks.
package peers
