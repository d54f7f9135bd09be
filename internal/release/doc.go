// Command release makes a release of all modules, and rehearses it.
//
// The repository's modules use each other from the directories beside them: they have replace directives, and require
// v0.0.0, a version that does not exist. Nobody can require such a module, and go install refuses it. So the tags of a
// release point at a separate commit, without the directives and with requirements on the released version:
//
//	go run -C internal/release . prepare v0.1.0   edits and stages all go.mod and go.sum of the work tree
//	go run -C internal/release . rehearse v0.1.0  does that in a copy, and uses the modules as others will
//	go run -C internal/release . sbom PROGRAM     writes the SBOM of an installed program to PROGRAM.cdx.json
//
// A rehearsal packs the modules into a module proxy in a temporary directory. New modules outside the repository get
// the libraries from there, with the oldest Go that they support and with today's. The programs are installed from
// there and run. It writes a software bill of materials (SBOM) for each program and checks it. With -keep DIR it leaves
// the proxy, the programs and the SBOMs in DIR.
package main
