//! The examples that are part of the program, as a user chooses one.

/// An example: a worker with everything that it works on, and a script that can stand in for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// The name of the worker, by which the example is chosen.
    pub name: &'static str,
    /// The work of the worker, in one sentence.
    pub words: &'static str,
}

/// The files of an example, laid out in a directory of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleFolder {
    /// The directory.
    pub dir: String,
    /// The path of the worker file.
    pub worker: String,
    /// The slots, each with the text after `-e SLOT=`.
    pub slots: Vec<(String, String)>,
    /// The inputs, by name.
    pub inputs: Vec<(String, String)>,
    /// The model that plays the script of the example.
    pub script: String,
}
