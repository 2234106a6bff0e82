module github.com/incremental-rebalance/assignor

go 1.22
