//! How things look to a person in a terminal. Foreign text is always made visible here.

pub mod asked;
pub mod batch;
pub mod came;
pub mod card;
pub mod code;
pub mod difference;
pub mod event;
pub mod granted;
pub mod journal;
pub mod json;
pub mod letter;
pub mod lines;
pub mod live;
pub mod money;
pub mod more;
pub mod progress;
pub mod reason;
pub mod stats;
pub mod thing;
pub mod timeline;
pub mod value;
pub mod waiting;
