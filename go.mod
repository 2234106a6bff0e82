module github.com/incremental-rebalance/assignor

go 1.22

require (
	github.com/stretchr/testify v1.12.1
	golang.org/x/exp v0.0.0-20240904232852-e7e105dedf7e
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/tools v0.24.0 // indirect
)
