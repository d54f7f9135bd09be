// Package defaults has the settings that kube-controller-manager had in other versions of Kubernetes. Use it to run an
// older cluster, to replace a fork of an older controller, or to play what an article describes.
//
//	config, err := defaults.Of("1.18") // or "v1.23.17"
//	e, err := evictor.New(config, clients, options)
//
// A Config has what a flag or a gate sets. VERSIONS.md beside this file says what else each version did otherwise.
package defaults
