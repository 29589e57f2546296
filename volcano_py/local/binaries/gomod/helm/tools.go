//go:build tools

// Package tools names Helm's client, so that go.mod and go.sum pin every module it is built from.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
