module github.com/evictkit/evictkit/evictor/compat

go 1.23.0

require (
	github.com/evictkit/evictkit v0.0.0
	github.com/stretchr/testify v1.10.0
	golang.org/x/time v0.9.0
	k8s.io/apimachinery v0.26.0
	k8s.io/client-go v0.26.0
	k8s.io/klog/v2 v2.130.1
	k8s.io/utils v0.0.0-20241104100929-3ea5e8cea738
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/go-logr/logr v1.4.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/evictkit/evictkit => ../../
