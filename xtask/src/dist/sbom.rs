//! The bill of materials: the packages of a binary, as a CycloneDX document.
//!
//! cargo-cyclonedx makes one too. It names folders of the building machine, which no other machine would reproduce, and
//! lists each crate of the workspace by itself. The form is small, and the trial of a release checks it against the
//! published schema.

use anyhow::Result;
use serde_json::{Value, json};

use super::dependencies::{Dependency, PackageId};
use super::source::Source;
use super::target::Target;

/// Returns the document.
///
/// # Errors
/// When the time of the release is out of range.
pub(super) fn document(source: &Source, target: &Target, all: &[Dependency]) -> Result<Vec<u8>> {
    let (main, rest): (Vec<&Dependency>, Vec<&Dependency>) =
        all.iter().partition(|dependency| dependency.is_ours && dependency.id.0 == "almoner");
    let mut main = main.first().map_or(Value::Null, |first| component(first));
    main["type"] = json!("application");
    main["properties"] = json!([
        { "name": "almoner:commit", "value": source.commit },
        { "name": "almoner:target", "value": target.triple },
    ]);
    let graph = all.iter().map(|dependency| {
        let needs: Vec<String> = dependency.needs.iter().map(reference).collect();
        json!({ "ref": reference(&dependency.id), "dependsOn": needs })
    });
    let document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "timestamp": source.time()?, "component": main },
        "components": rest.into_iter().map(component).collect::<Vec<_>>(),
        "dependencies": graph.collect::<Vec<_>>(),
    });
    let mut bytes = serde_json::to_vec_pretty(&document)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn component(dependency: &Dependency) -> Value {
    let (name, version) = &dependency.id;
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(&dependency.id),
        "name": name,
        "version": version,
        "scope": if dependency.is_linked { "required" } else { "excluded" },
    });
    // The registry has other packages of the same names as ours.
    if !dependency.is_ours {
        component["purl"] = json!(format!("pkg:cargo/{name}@{version}"));
    }
    if let Some(license) = &dependency.license {
        component["licenses"] = json!([{ "expression": license }]);
    }
    if let Some(checksum) = &dependency.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(repository) = &dependency.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

fn reference((name, version): &PackageId) -> String {
    format!("{name}@{version}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::dependencies;
    use super::super::target::Target;
    use super::document;

    #[test]
    fn every_package_has_a_row_and_each_reference_leads_to_one() {
        let target = Target::named("x86_64-unknown-linux-gnu").unwrap();
        let source = dependencies::clone();
        let all = dependencies::read(&source, target).unwrap();
        let bytes = document(&source, target, &all).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let rows = document["components"].as_array().unwrap();
        assert_eq!(rows.len() + 1, all.len());
        let mut references: BTreeSet<&str> =
            rows.iter().map(|row| row["bom-ref"].as_str().unwrap()).collect();
        references.insert(document["metadata"]["component"]["bom-ref"].as_str().unwrap());
        assert_eq!(references.len(), all.len());
        for row in document["dependencies"].as_array().unwrap() {
            for needed in row["dependsOn"].as_array().unwrap() {
                assert!(references.contains(needed.as_str().unwrap()), "{needed}");
            }
        }
        let kernel = rows.iter().find(|row| row["name"] == "kernel").unwrap();
        assert!(kernel["purl"].is_null(), "another package has this name in the registry");
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains(source.root.to_str().unwrap()), "it names a folder of this machine");
    }
}
