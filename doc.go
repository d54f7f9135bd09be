// Package evictkit is the root of the module; see the packages below it.
package evictkit
