//go:build tools

// Package tools names Prometheus and its tool, so that go.mod and go.sum pin every module they are built from.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
