package main

import (
	"fmt"
	"math/rand"

	"github.com/evictkit/evictkit/evictor"
)

const someUID = "0b5c6f6e-7a0a-4f3e-9d55-0f5d7a0e6d11"

// nodeNames returns n names in random order, as an informer delivers them.
func nodeNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node-%06d.example.internal", i)
	}
	rand.New(rand.NewSource(1)).Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// podKeys returns n pods in 100 namespaces, shuffled too.
func podKeys(n int) []evictor.PodKey {
	keys := make([]evictor.PodKey, n)
	for i := range keys {
		keys[i] = evictor.PodKey{Namespace: fmt.Sprintf("namespace-%d", i%100), Name: fmt.Sprintf("deployment-%d-pod", i)}
	}
	rand.New(rand.NewSource(1)).Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// anyOrder returns random numbers below n, with repetitions. Going through n keys in turn would always meet the key
// that is first in a heap.
func anyOrder(n int) []int {
	random := rand.New(rand.NewSource(2))
	order := make([]int, max(n, 1<<16))
	for i := range order {
		order[i] = random.Intn(n)
	}
	return order
}
