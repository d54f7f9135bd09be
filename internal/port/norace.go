//go:build !race

package port

const race = false
