package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/package-url/packageurl-go"
	"github.com/xeipuuv/gojsonschema"
)

// billed writes the SBOM of a program that was installed in this environment to a file beside it, and checks the file.
func billed(ctx context.Context, env []string, with toolchain, name string) error {
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return err
	}
	dir := filepath.Dir(name)
	text, err := command(ctx, dir, env, with.program, "mod", "download", "-json", info.Main.Path+"@"+info.Main.Version)
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	var source struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &source); err != nil {
		return err
	}
	graph, err := command(ctx, source.Dir, env, with.program, "mod", "graph")
	if err != nil {
		return err
	}
	written, err := encode(bill(info, graph))
	if err != nil {
		return err
	}
	file := name + ".cdx.json"
	if err := os.WriteFile(file, written, 0o644); err != nil {
		return err
	}
	if written, err = os.ReadFile(file); err != nil {
		return err
	}
	schemas, err := command(ctx, ".", nil, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	if err != nil {
		return err
	}
	if err := valid(written, filepath.Join(schemas, "schema")); err != nil {
		return err
	}
	return complete(written, info)
}

// bill lists what a program is made of: the linked modules, with the checksums that Go verified, and the standard
// library. graph is what go mod graph printed: which module requires which.
func bill(info *debug.BuildInfo, graph string) *cyclonedx.BOM {
	library := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: "stdlib", Version: info.GoVersion,
		BOMRef: "stdlib", PackageURL: purl("stdlib", strings.TrimPrefix(info.GoVersion, "go"), ""),
	}
	program := component(&info.Main)
	program.Type, program.Name = cyclonedx.ComponentTypeApplication, path.Base(info.Path)
	program.PackageURL = purl(info.Main.Path, info.Main.Version, strings.TrimPrefix(info.Path, info.Main.Path+"/"))
	components := []cyclonedx.Component{library}
	versions := map[string]string{info.Main.Path: info.Main.Version}
	for _, m := range info.Deps {
		components = append(components, component(m))
		versions[m.Path] = m.Version
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &program}
	bom.Components = &components
	bom.Dependencies = dependencies(versions, info.Main.Path, graph)
	return bom
}

func component(m *debug.Module) cyclonedx.Component {
	c := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version,
		BOMRef: m.Path, PackageURL: purl(m.Path, m.Version, ""),
	}
	if m.Sum != "" { // the h1 checksum of go.sum, which is not the SHA-256 of any file
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}

func purl(name, version, subpath string) string {
	namespace, name := path.Split(name)
	return packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), name, version, nil, subpath).ToString()
}

// dependencies returns the dependencies between the linked modules. A line of the graph is a requirement of one version
// of a module. The lines of the linked versions count, whatever version they ask for. The main module has no version in
// the graph.
func dependencies(versions map[string]string, main, graph string) *[]cyclonedx.Dependency {
	of := map[string][]string{main: {"stdlib"}}
	for line := range strings.Lines(graph) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		from, version, _ := strings.Cut(from, "@")
		to, _, _ = strings.Cut(to, "@")
		linked, ok := versions[from]
		if _, too := versions[to]; ok && too && (from == main || version == linked) {
			of[from] = append(of[from], to)
		}
	}
	var all []cyclonedx.Dependency
	for name := range versions {
		on := of[name]
		slices.Sort(on)
		on = slices.Compact(on)
		all = append(all, cyclonedx.Dependency{Ref: name, Dependencies: &on})
	}
	slices.SortFunc(all, func(a, b cyclonedx.Dependency) int { return strings.Compare(a.Ref, b.Ref) })
	return &all
}

func encode(bom *cyclonedx.BOM) ([]byte, error) {
	var text bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return text.Bytes(), err
}

// valid checks an SBOM against CycloneDX's own schema. The two schemas that it refers to are beside it; the file name
// of one is slightly different.
func valid(text []byte, schemas string) error {
	loader := gojsonschema.NewSchemaLoader()
	for name, file := range map[string]string{"spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		err := loader.AddSchema("http://cyclonedx.org/schema/"+name, gojsonschema.NewReferenceLoader("file://"+filepath.Join(schemas, file)))
		if err != nil {
			return fmt.Errorf("schema %s: %w", name, err)
		}
	}
	schema, err := loader.Compile(gojsonschema.NewReferenceLoader("file://" + filepath.Join(schemas, "bom-1.6.schema.json")))
	if err != nil {
		return fmt.Errorf("schema of CycloneDX: %w", err)
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(text))
	if err != nil {
		return fmt.Errorf("SBOM: %w", err)
	}
	var faults []error
	for _, fault := range result.Errors() {
		faults = append(faults, fmt.Errorf("SBOM: %s", fault))
	}
	return errors.Join(faults...)
}

// complete reads an SBOM back: it must contain every linked module at its version, and nothing else.
func complete(text []byte, info *debug.BuildInfo) error {
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		return fmt.Errorf("SBOM: %w", err)
	}
	want := map[string]string{"stdlib": info.GoVersion}
	for _, m := range info.Deps {
		want[m.Path] = m.Version
	}
	if bom.Metadata == nil || bom.Metadata.Component == nil || bom.Metadata.Component.Version != info.Main.Version || bom.Components == nil {
		return fmt.Errorf("SBOM: it is not of %s %s", info.Path, info.Main.Version)
	}
	for _, c := range *bom.Components {
		if want[c.Name] != c.Version {
			return fmt.Errorf("SBOM: %s is %q, linked is %q", c.Name, c.Version, want[c.Name])
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		return fmt.Errorf("SBOM: without %v", want)
	}
	return nil
}
