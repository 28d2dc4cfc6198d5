//! The paths of this machine in the stored forms of resources.

use std::collections::BTreeMap;

use super::Resource;
use super::mcp::{ServerProgram, ServerTransport};
use super::programs::{EndowedProgram, ProgramDirectory, Setting};
use crate::BlobHash;

/// The use that a resource makes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathUse {
    /// A directory in which the resource works.
    Directory,
    /// A program that is started, or a script's interpreter.
    Program,
    /// A file or a directory that a program only reads.
    Read,
}

impl Resource {
    /// Passes every path of this machine to `visit`, which may change it.
    pub fn visit_paths(&mut self, visit: &mut dyn FnMut(PathUse, &mut String)) {
        match self {
            Resource::Directory { path, .. } | Resource::Outbox { path } => visit(PathUse::Directory, path),
            Resource::Repository(repository) => visit(PathUse::Directory, &mut repository.path),
            Resource::Programs(programs) => {
                programs.programs.iter_mut().for_each(|program| visit_program(program, visit));
                visit_directories(&mut programs.directories, visit);
                visit_settings(&mut programs.environment, visit);
            }
            Resource::Mcp(server) => {
                if let ServerTransport::Program(program) = &mut server.line {
                    visit_server(program, visit);
                }
            }
            Resource::Web(_)
            | Resource::Secret(_)
            | Resource::Clock
            | Resource::Questions
            | Resource::Alarm
            | Resource::Mail => {}
        }
    }

    /// Returns every path of this machine in the resource, each with its use.
    pub fn paths(&self) -> Vec<(PathUse, String)> {
        let mut all = Vec::new();
        self.clone().visit_paths(&mut |purpose, path| all.push((purpose, path.clone())));
        all
    }
}

fn visit_program(program: &mut EndowedProgram, visit: &mut dyn FnMut(PathUse, &mut String)) {
    visit(PathUse::Program, &mut program.path);
    program.interpreters.iter_mut().for_each(|one| visit(PathUse::Program, &mut one.path));
}

fn visit_directories(directories: &mut [ProgramDirectory], visit: &mut dyn FnMut(PathUse, &mut String)) {
    directories.iter_mut().for_each(|one| visit(PathUse::Directory, &mut one.path));
}

/// Passes on the variables and arguments that are paths as a whole.
fn visit_settings(settings: &mut BTreeMap<String, Setting>, visit: &mut dyn FnMut(PathUse, &mut String)) {
    for setting in settings.values_mut() {
        match setting {
            Setting::Text(text) if text.starts_with('/') => visit(PathUse::Read, text),
            _ => {}
        }
    }
}

fn visit_server(server: &mut ServerProgram, visit: &mut dyn FnMut(PathUse, &mut String)) {
    visit_program(&mut server.program, visit);
    server.arguments.iter_mut().filter(|one| one.starts_with('/')).for_each(|one| visit(PathUse::Read, one));
    for digests in [&mut server.files, &mut server.trees] {
        let moved = std::mem::take(digests).into_iter().map(|(mut path, digest)| {
            visit(PathUse::Read, &mut path);
            (path, digest)
        });
        *digests = moved.collect::<BTreeMap<String, BlobHash>>();
    }
    visit_settings(&mut server.environment, visit);
    server.reads.iter_mut().for_each(|one| visit(PathUse::Read, one));
    visit_directories(&mut server.directories, visit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_a_server_is_visited_and_changed() {
        let program = r#"{"kind":"mcp","name":"s","line":{"by":"program",
            "program":{"name":"p","path":"/old/p","digest":"D","interpreters":[{"path":"/old/i","digest":"D"}]},
            "arguments":["/old/a","--flag","old/b"],"files":{"/old/f":"D"},"trees":{"/old/t":"D"},
            "environment":{"A":{"text":"/old/e"},"B":{"text":"plain"}},"reads":["/old/r"],
            "directories":[{"path":"/old/d","write":true}],"memory":1},"tools":[],"call_ms":1}"#;
        let digest = BlobHash::of(b"").to_string();
        let mut server: Resource = serde_json::from_str(&program.replace('D', &digest)).unwrap();
        server.visit_paths(&mut |_, path| *path = path.replacen("/old", "/new", 1));
        let paths: Vec<String> = server.paths().into_iter().map(|(_, path)| path).collect();
        assert_eq!(paths, ["/new/p", "/new/i", "/new/a", "/new/f", "/new/t", "/new/e", "/new/r", "/new/d"]);
        assert!(!serde_json::to_string(&server).unwrap().contains("/old"));
    }
}
