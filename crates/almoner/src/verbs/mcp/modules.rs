//! The places of a program's modules, which its sandbox lets it read.

use std::path::{Path, PathBuf};

/// The files that mark the folder of a project.
const PROJECT_MARKS: [&str; 3] = ["package.json", "pyproject.toml", "deno.json"];

/// Returns the directories of a program's modules: a `node_modules` folder or a virtual environment of Python in which
/// it lies, or the folder of its project.
pub fn modules(program: &Path) -> Vec<String> {
    let texts =
        |paths: Vec<PathBuf>| paths.into_iter().filter_map(|path| path.to_str().map(str::to_owned)).collect();
    let Ok(real) = program.canonicalize() else { return vec![] };
    let is_modules = |dir: &&Path| dir.file_name().is_some_and(|name| name == "node_modules");
    if let Some(outermost) = real.ancestors().filter(is_modules).last() {
        return texts(vec![outermost.to_owned()]);
    }
    // A link to the interpreter leads out of the environment, so the place of the link comes first.
    let above = |path: &Path| Some(path.parent()?.parent()?.to_owned());
    for dir in [above(program), above(&real)].into_iter().flatten() {
        let Ok(settings) = std::fs::read_to_string(dir.join("pyvenv.cfg")) else { continue };
        // The libraries of Python itself lie in the installation from which the environment was made.
        let home = settings.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "home").then(|| PathBuf::from(value.trim()).parent().map(Path::to_owned))?
        });
        let ours = home.filter(|home| !home.starts_with("/usr") && home.components().count() > 2);
        return texts(std::iter::once(dir).chain(ours).collect());
    }
    let is_script = real
        .extension()
        .and_then(|it| it.to_str())
        .is_some_and(|it| ["js", "mjs", "cjs", "ts", "mts", "py"].contains(&it));
    let is_project = |dir: &&Path| PROJECT_MARKS.iter().any(|mark| dir.join(mark).is_file());
    // The nearest one: a folder further up may hold much else.
    let project = real.ancestors().skip(1).take(4).find(is_project).filter(|_| is_script);
    texts(project.map(Path::to_owned).into_iter().collect())
}
