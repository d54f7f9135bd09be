// Package defaults has the settings that kube-controller-manager had in other versions of Kubernetes, for whoever runs an
// older cluster, replaces a fork of an older controller, or plays what an article describes.
//
//	config, err := defaults.Of("1.18") // or "v1.23.17"
//	e, err := evictor.New(config, clients, options)
//
// A Config has what a flag or a gate sets. VERSIONS.md beside this file says what else each version did otherwise.
package defaults
