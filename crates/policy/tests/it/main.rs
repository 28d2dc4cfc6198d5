//! What the gates find and let pass, measured on files of examples.

mod secrets;
