package main

import (
	"context"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var linked = &debug.BuildInfo{
	GoVersion: "go1.26.8", Path: rootModule + "/examples/simulate",
	Main: debug.Module{Path: rootModule + "/examples", Version: "v0.1.0", Sum: "h1:m="},
	Deps: []*debug.Module{
		{Path: "example.org/A", Version: "v1.2.0", Sum: "h1:a="},
		{Path: "example.org/b/v2", Version: "v2.0.0+incompatible", Sum: "h1:b="},
	},
}

// As go mod graph prints it. The first is the main module. A has an older version, which is not linked.
const requirements = rootModule + `/examples example.org/A@v1.1.0
example.org/A@v1.1.0 example.org/unused@v1.0.0
example.org/A@v1.2.0 example.org/b/v2@v2.0.0+incompatible
example.org/b/v2@v2.0.0+incompatible example.org/unused@v1.0.0
`

func schemas(t *testing.T) string {
	t.Helper()
	dir, err := command(context.Background(), ".", nil, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	require.NoError(t, err)
	return filepath.Join(dir, "schema")
}

func TestABillOfMaterials(t *testing.T) {
	bom := bill(linked, requirements)
	text, err := encode(bom)
	require.NoError(t, err)
	require.NoError(t, valid(text, schemas(t)))
	require.NoError(t, complete(text, linked))
	require.Equal(t, "pkg:golang/github.com/evictkit/evictkit/examples@v0.1.0#simulate", bom.Metadata.Component.PackageURL)
	require.Equal(t, "pkg:golang/stdlib@1.26.8", (*bom.Components)[0].PackageURL)
	on := map[string][]string{}
	for _, d := range *bom.Dependencies {
		on[d.Ref] = *d.Dependencies
	}
	require.Equal(t, []string{"example.org/A", "stdlib"}, on[rootModule+"/examples"])
	require.Equal(t, []string{"example.org/b/v2"}, on["example.org/A"])
	require.Empty(t, on["example.org/b/v2"])
}

func TestABillThatIsWrongIsNoticed(t *testing.T) {
	text, err := encode(bill(linked, requirements))
	require.NoError(t, err)
	without := *linked
	without.Deps = linked.Deps[:1]
	require.ErrorContains(t, complete(text, &without), "linked is \"\"")
	short, err := encode(bill(&without, requirements))
	require.NoError(t, err)
	require.ErrorContains(t, complete(short, linked), "without map[example.org/b/v2")
	other := *linked
	other.Main.Version = "v0.2.0"
	require.ErrorContains(t, complete(text, &other), "it is not of")
	require.ErrorContains(t, valid([]byte(strings.Replace(string(text), `"library"`, `"book"`, 1)), schemas(t)), "SBOM")
}
