//! Changes of `config.toml` that a user makes without an editor. Comments and all other keys stay as they are.

use toml_edit::{DocumentMut, Item, Table, value};

use super::{MAX_FILE_BYTES, check_trusted, path, read};
use crate::managed;
use crate::model_choice;
use crate::place::{self, Place};
use crate::whole_file;
use control::exit::{Exit, Failure};

/// The text above the settings in a new file.
const HEAD: &str = "# docs/settings.md says what may stand here.\n\n";

/// Writes the model for runs that name none into the user's settings.
///
/// # Errors
/// When there is no such model here, the administrator does not allow it, or the file cannot be changed. Then the file
/// is as it was.
pub fn set_default_model(place: &Place, model: &str) -> Result<(), Failure> {
    let model = model.trim();
    let reference = model_choice::named_on_a_page(place, model)?;
    managed::rules()?.expect_models(&reference)?;
    let file = path(place);
    let shown = file.display().to_string();
    let fail = |what: String| {
        Failure::new(Exit::Failure, format!("cannot change {shown}: {what}"))
            .help(format!("write `default = \"{model}\"` below `[models]` in it yourself"))
    };
    // A file with a fault is not changed, since nothing says what its user meant.
    let before = read(&file)?;
    let old = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => HEAD.to_owned(),
        Err(error) => return Err(fail(error.to_string())),
    };
    let text = with_default_model(&old, model).map_err(fail)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(fail("it would have more than 64 KiB".to_owned()));
    }
    let parsed = read::parse(&text).map_err(|trouble| fail(trouble.what))?;
    let mut expected = before;
    // A name of the user's own is read as the model that it stands for.
    expected.models.default.clone_from(&parsed.models.default);
    if parsed != expected {
        return Err(fail("another setting would change".to_owned()));
    }
    place::private_dir(&place.config)?;
    match std::fs::metadata(&file) {
        Ok(meta) => {
            check_trusted(&file, &meta).map_err(|(what, _)| fail(what.to_owned()))?;
            whole_file::replace(&file, text.as_bytes())
        }
        Err(_) => whole_file::create(&file, 0o600, text.as_bytes()),
    }
    .map_err(|error| fail(error.to_string()))
}

/// Returns the text of a settings file with another default model.
fn with_default_model(text: &str, model: &str) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    if document.is_empty() {
        // Comments stay above the first section.
        let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
        return Ok(format!("{text}{gap}[models]\ndefault = {}\n", toml_edit::Value::from(model)));
    }
    let models = document.entry("models").or_insert_with(|| Item::Table(Table::new()));
    let table = models.as_table_like_mut().ok_or("`models` is no section")?;
    match table.get_mut("default").and_then(Item::as_value_mut) {
        Some(own) => {
            // The comment behind the value stays.
            let decor = own.decor().clone();
            *own = model.into();
            *own.decor_mut() = decor;
        }
        None => drop(table.insert("default", value(model))),
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_default_model_keeps_all_other_text() {
        for (before, after) in [
            ("", "[models]\ndefault = \"local\"\n"),
            ("# only\n", "# only\n\n[models]\ndefault = \"local\"\n"),
            ("# mine\n[web]\nport = 1\n", "# mine\n[web]\nport = 1\n\n[models]\ndefault = \"local\"\n"),
            (
                "[models]\n# why\ndefault = \"old\" # note\n\n[mcp]\nstart = \"9s\"\n",
                "[models]\n# why\ndefault = \"local\" # note\n\n[mcp]\nstart = \"9s\"\n",
            ),
            (
                "[models]\nprivate = [\"local\"]\n[models.names]\nfast = \"local\"\n",
                "[models]\nprivate = [\"local\"]\ndefault = \"local\"\n[models.names]\nfast = \"local\"\n",
            ),
            ("models = { default = \"old\" }\n", "models = { default = \"local\" }\n"),
        ] {
            assert_eq!(with_default_model(before, "local").unwrap(), after, "{before}");
        }
    }

    #[test]
    fn default_model_is_written_only_into_a_sound_file() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::under(dir.path());
        let script = dir.path().join("s.json");
        std::fs::write(&script, "[]").unwrap();
        let model = format!("scripted:{}", script.display());
        set_default_model(&place, &model).unwrap();
        let written = std::fs::read_to_string(path(&place)).unwrap();
        assert!(written.starts_with(HEAD), "{written}");
        assert_eq!(read(&path(&place)).unwrap().models.default, Some(model.clone()));
        assert!(set_default_model(&place, "scripted:/nowhere.json").is_err());
        assert_eq!(std::fs::read_to_string(path(&place)).unwrap(), written);
        std::fs::write(path(&place), "[modles]\n").unwrap();
        assert!(set_default_model(&place, &model).is_err());
        assert_eq!(std::fs::read_to_string(path(&place)).unwrap(), "[modles]\n");
    }
}
