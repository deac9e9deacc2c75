package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// sbom is what a release consists of, while it is listed.
type sbom struct {
	document *spdx.Document
	// listed are the modules that the document has, by path and version.
	listed map[string]common.ElementID
}

// noAssertion is SPDX's word for what isn't looked into.
const noAssertion = "NOASSERTION"

// writeSBOM lists, as SPDX, the modules that are linked into each program, as the programs
// themselves have it, and what the programs are in.
func (r *release) writeSBOM(imageDigest string) error {
	s := &sbom{listed: map[string]common.ElementID{}, document: &spdx.Document{
		SPDXVersion:       spdx.Version,
		DataLicense:       spdx.DataLicense,
		SPDXIdentifier:    "DOCUMENT",
		DocumentName:      "markdown-view " + r.version,
		DocumentNamespace: projectURL + "/spdx/" + r.version + "/" + r.revision,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "markdown-view"}},
			Created:  r.created.Format(time.RFC3339),
		},
	}}
	image := s.describe(&spdx.Package{
		PackageName: r.repository, PackageVersion: r.version, PackageSPDXIdentifier: "Image",
		PackageDownloadLocation: "oci://" + r.repository + "@" + imageDigest, PrimaryPackagePurpose: "CONTAINER",
		PackageChecksums:        []common.Checksum{{Algorithm: common.SHA256, Value: strings.TrimPrefix(imageDigest, "sha256:")}},
		PackageLicenseConcluded: "Apache-2.0", PackageLicenseDeclared: "Apache-2.0", PackageCopyrightText: noAssertion,
	})
	for _, p := range r.platforms {
		for _, name := range programs {
			program, err := r.addProgram(s, p, name)
			if err != nil {
				return err
			}
			if p.os == "linux" {
				s.relate(image, "CONTAINS", program)
			}
		}
	}
	var text bytes.Buffer
	if err := spdxjson.Write(s.document, &text, spdxjson.Indent("  "), spdxjson.EscapeHTML(false)); err != nil {
		return err
	}
	return r.write(r.name("markdown-view", ".spdx.json"), text.Bytes())
}

// addProgram adds a program, what it is linked with, and the archive that it is in.
func (r *release) addProgram(s *sbom, p platform, name string) (common.ElementID, error) {
	path, file := r.program(p, name)
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", err
	}
	archive := r.archiveName(p, name)
	programSum, err := checksum(path)
	if err != nil {
		return "", err
	}
	archiveSum, err := checksum(filepath.Join(r.folder, archive))
	if err != nil {
		return "", err
	}
	ours := func(pkg spdx.Package, sum string) *spdx.Package {
		pkg.PackageVersion = r.version
		pkg.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
		pkg.PackageLicenseConcluded, pkg.PackageLicenseDeclared, pkg.PackageCopyrightText = "Apache-2.0", "Apache-2.0", noAssertion
		return &pkg
	}
	packed := s.describe(ours(spdx.Package{
		PackageName: archive, PackageFileName: archive, PackageSPDXIdentifier: identifier("Archive", archive), PrimaryPackagePurpose: "ARCHIVE",
		PackageDownloadLocation: projectURL + "/releases/download/" + r.version + "/" + archive,
	}, archiveSum))
	program := s.add(ours(spdx.Package{
		PackageName: name, PackageFileName: file, PackageSPDXIdentifier: identifier("Program", name, p.file()), PrimaryPackagePurpose: "APPLICATION",
		PackageDownloadLocation: "git+" + projectURL + "@" + r.revision,
		PackageSourceInfo:       fmt.Sprintf("for %s, built by %s", p, info.GoVersion),
	}, programSum))
	s.relate(packed, "CONTAINS", program)
	s.relate(program, "DEPENDS_ON", s.module("stdlib", strings.TrimPrefix(info.GoVersion, "go"), ""))
	for _, module := range info.Deps {
		linked := replacement(module)
		s.relate(program, "DEPENDS_ON", s.module(linked.Path, linked.Version, linked.Sum))
	}
	return program, nil
}

// replacement is the module that is linked in the place of another.
func replacement(module *debug.Module) *debug.Module {
	for module.Replace != nil {
		module = module.Replace
	}
	return module
}

// module adds a Go module, once.
func (s *sbom) module(path, version, sum string) common.ElementID {
	id, ok := s.listed[path+"@"+version]
	if ok {
		return id
	}
	id = identifier("Module", strconv.Itoa(len(s.listed)+1), path) // other paths may give the same name
	s.listed[path+"@"+version] = id
	pkg := &spdx.Package{
		PackageName: path, PackageVersion: version, PackageSPDXIdentifier: id,
		PackageDownloadLocation: noAssertion, PrimaryPackagePurpose: "LIBRARY",
		PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion, PackageCopyrightText: noAssertion,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + strings.ReplaceAll(path, "+", "%2B") + "@" + strings.ReplaceAll(version, "+", "%2B"),
		}},
	}
	if sum != "" {
		pkg.PackageComment = "go.sum: " + sum
	}
	return s.add(pkg)
}

func (s *sbom) add(pkg *spdx.Package) common.ElementID {
	s.document.Packages = append(s.document.Packages, pkg)
	return pkg.PackageSPDXIdentifier
}

// describe adds a package that people get.
func (s *sbom) describe(pkg *spdx.Package) common.ElementID {
	s.relate(s.document.SPDXIdentifier, "DESCRIBES", s.add(pkg))
	return pkg.PackageSPDXIdentifier
}

func (s *sbom) relate(a common.ElementID, relationship string, b common.ElementID) {
	s.document.Relationships = append(s.document.Relationships, &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(a)), RefB: common.MakeDocElementID("", string(b)), Relationship: relationship,
	})
}

// notInIdentifiers is what SPDX allows in none.
var notInIdentifiers = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func identifier(parts ...string) common.ElementID {
	return common.ElementID(notInIdentifiers.ReplaceAllString(strings.Join(parts, "-"), "-"))
}
