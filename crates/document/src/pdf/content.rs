//! The interpreter for a page's drawing operations, limited to those that place text.

use std::collections::HashMap;
use std::rc::Rc;

use lopdf::{DecompressError, Dictionary, Document, Error, Object, ObjectId, Stream};

use super::Budget;
use super::font::Font;
use super::lexer::{Operations, Token};
use super::lines::{Lines, TextRun};
use super::matrix::Matrix;
use crate::DocumentError;
use crate::plain::tidy;

/// The maximum depth of nested drawings.
const MAX_NESTING: usize = 8;
/// The maximum number of saved graphics states. A normal page needs fewer.
const MAX_STATES: usize = 256;
/// The maximum number of steps up the page tree in the search for resources.
const MAX_ANCESTORS: usize = 64;

/// The reader of pages, one after the other.
pub(super) struct Reader<'a, 'b> {
    document: &'a Document,
    budget: Budget<'b>,
    /// The fonts that were read. They are kept because pages share fonts, and reading a font takes long. The document
    /// does not change, so the address of a font's dictionary identifies it, with or without an object number.
    fonts: HashMap<*const Dictionary, Rc<Font>>,
    lines: Lines,
    /// The forms that are being drawn, from the outside in.
    open: Vec<*const Stream>,
    page: PageText,
}

/// The text of a page, and what is on the page beside it.
#[derive(Debug, Default)]
pub(super) struct PageText {
    pub(super) text: String,
    /// The number of glyphs whose characters are not known.
    pub(super) unreadable: usize,
    /// The number of pictures.
    pub(super) pictures: usize,
    /// Whether the page draws lines or areas.
    pub(super) has_drawing: bool,
    /// Whether a part of the page could not be read.
    pub(super) is_broken: bool,
}

/// The graphics state that `q` saves and `Q` restores.
#[derive(Clone)]
struct State {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f32,
    spacing: f32,
    word_spacing: f32,
    /// The horizontal scale, which is 1 for unscaled text.
    stretch: f32,
    leading: f32,
    rise: f32,
}

impl PageText {
    /// Adds the counts of drawings that belong to the page.
    pub(super) fn add(&mut self, marks: &PageText) {
        self.unreadable += marks.unreadable;
        self.is_broken |= marks.is_broken;
    }
}

impl State {
    fn start() -> Self {
        Self {
            matrix: Matrix::UNIT,
            font: None,
            size: 0.0,
            spacing: 0.0,
            word_spacing: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

/// An object that a page draws by its name.
enum DrawnObject<'a> {
    Form(&'a Stream),
    Picture,
}

/// The position of the next text: the start of the line, and the pen.
#[derive(Clone, Copy)]
struct Pen {
    line: Matrix,
    text: Matrix,
}

impl Pen {
    fn start_line(&mut self, x: f32, y: f32) {
        self.line = Matrix::shift(x, y).then(self.line);
        self.text = self.line;
    }
}

impl<'a, 'b> Reader<'a, 'b> {
    pub(super) fn new(document: &'a Document, budget: Budget<'b>) -> Self {
        Self {
            document,
            budget,
            fonts: HashMap::new(),
            lines: Lines::default(),
            open: Vec::new(),
            page: PageText::default(),
        }
    }

    pub(super) fn document(&self) -> &'a Document {
        self.document
    }

    /// Returns the number of bytes of text that may still be found.
    pub(super) fn room(&self) -> usize {
        self.budget.text
    }

    /// Subtracts an amount of work from the budget.
    pub(super) fn work(&mut self, operations: usize) -> Result<(), DocumentError> {
        self.budget.work(operations)
    }

    /// Subtracts text that was found elsewhere from the budget.
    pub(super) fn take_text(&mut self, bytes: usize) -> Result<(), DocumentError> {
        self.budget.text(bytes)
    }

    /// Returns the text of a page. It is empty if the page is missing or is not a dictionary.
    pub(super) fn page(&mut self, page: ObjectId) -> Result<PageText, DocumentError> {
        self.page = PageText::default();
        let contents = self.document.get_page_contents(page);
        self.budget.work(contents.len())?;
        let mut content = Vec::new();
        for part in contents {
            let Ok(part) = self.document.get_object(part).and_then(Object::as_stream) else {
                self.page.is_broken = true;
                continue;
            };
            if let Some(part) = self.unfolded(part)? {
                content.extend(part);
                content.push(b'\n');
            }
        }
        let resources = self.resources(page);
        self.draw(&content, resources, State::start(), 0)?;
        let text = std::mem::take(&mut self.lines).finish();
        Ok(PageText { text, ..std::mem::take(&mut self.page) })
    }

    /// Returns the counts of the drawings since the last page.
    pub(super) fn take_marks(&mut self) -> PageText {
        std::mem::take(&mut self.page)
    }

    /// Returns the text of a drawing that stands on no page by itself, such as that of a field.
    pub(super) fn drawing(&mut self, form: &'a Stream) -> Result<String, DocumentError> {
        self.draw_form(form, None, &State::start(), 0)?;
        Ok(tidy(&std::mem::take(&mut self.lines).finish()))
    }

    /// Returns the decompressed content of a stream, or `None` if it is damaged.
    fn unfolded(&mut self, stream: &Stream) -> Result<Option<Vec<u8>>, DocumentError> {
        match stream.get_plain_content_with_limit(self.budget.unfolded) {
            Ok(content) => {
                self.budget.unfold(content.len())?;
                Ok(Some(content))
            }
            Err(Error::Decompress(DecompressError::MemoryLimitExceeded { .. })) => {
                Err(self.budget.too_much_unfolded())
            }
            Err(_) => {
                self.page.is_broken = true;
                Ok(None)
            }
        }
    }

    /// Returns the resources of a page: its own, or those of its nearest ancestor that has some.
    fn resources(&self, page: ObjectId) -> Option<&'a Dictionary> {
        let mut node = self.document.get_dictionary(page).ok()?;
        for _ in 0..MAX_ANCESTORS {
            if let Ok(resources) = node.get_deref(b"Resources", self.document).and_then(Object::as_dict) {
                return Some(resources);
            }
            node = node.get_deref(b"Parent", self.document).and_then(Object::as_dict).ok()?;
        }
        None
    }

    fn draw(
        &mut self,
        content: &[u8],
        resources: Option<&'a Dictionary>,
        mut state: State,
        depth: usize,
    ) -> Result<(), DocumentError> {
        let mut saved: Vec<State> = Vec::new();
        let mut unsaved = 0_usize;
        let mut pen = Pen { line: Matrix::UNIT, text: Matrix::UNIT };
        let mut operations = Operations::new(content);
        let mut operands = Vec::new();
        while let Some(operator) = operations.next(&mut operands) {
            self.budget.work(1)?;
            let number = |at: usize| match operands.get(at) {
                Some(Token::Number(number)) => *number,
                _ => 0.0,
            };
            let name = || match operands.first() {
                Some(Token::Name(name)) => Some(name.as_slice()),
                _ => None,
            };
            match operator {
                b"q" if saved.len() < MAX_STATES => saved.push(state.clone()),
                b"q" => unsaved += 1,
                b"Q" if unsaved > 0 => unsaved -= 1,
                b"Q" => state = saved.pop().unwrap_or(state),
                b"cm" => {
                    if let Some(matrix) = matrix(&operands) {
                        state.matrix = matrix.then(state.matrix);
                    }
                }
                b"BT" => pen = Pen { line: Matrix::UNIT, text: Matrix::UNIT },
                b"Tf" => {
                    state.font = match name() {
                        Some(name) => self.font(resources, name)?,
                        None => None,
                    };
                    state.size = number(1);
                }
                b"Tc" => state.spacing = number(0),
                b"Tw" => state.word_spacing = number(0),
                b"Tz" => state.stretch = number(0) / 100.0,
                b"TL" => state.leading = number(0),
                b"Ts" => state.rise = number(0),
                b"Td" => pen.start_line(number(0), number(1)),
                b"TD" => {
                    state.leading = -number(1);
                    pen.start_line(number(0), number(1));
                }
                b"Tm" => {
                    if let Some(matrix) = matrix(&operands) {
                        pen = Pen { line: matrix, text: matrix };
                    }
                }
                b"T*" => pen.start_line(0.0, -state.leading),
                b"Tj" | b"TJ" => self.show(&operands, &state, &mut pen)?,
                b"'" => {
                    pen.start_line(0.0, -state.leading);
                    self.show(&operands, &state, &mut pen)?;
                }
                b"\"" => {
                    state.word_spacing = number(0);
                    state.spacing = number(1);
                    pen.start_line(0.0, -state.leading);
                    self.show(operands.get(2..).unwrap_or_default(), &state, &mut pen)?;
                }
                b"Do" => match name().and_then(|name| self.drawn_object(resources, name)) {
                    // A form that draws itself adds nothing.
                    Some(DrawnObject::Form(form)) if self.open.contains(&std::ptr::from_ref(form)) => {}
                    Some(DrawnObject::Form(_)) if depth >= MAX_NESTING => self.page.is_broken = true,
                    Some(DrawnObject::Form(form)) => self.draw_form(form, resources, &state, depth)?,
                    Some(DrawnObject::Picture) => self.page.pictures += 1,
                    None => {}
                },
                b"ID" => self.page.pictures += 1,
                b"f" | b"F" | b"f*" | b"S" | b"s" | b"B" | b"B*" | b"b" | b"b*" | b"sh" => {
                    self.page.has_drawing = true;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Draws a form. This is a named drawing with its own matrix, and perhaps with its own resources.
    fn draw_form(
        &mut self,
        form: &'a Stream,
        resources: Option<&'a Dictionary>,
        state: &State,
        depth: usize,
    ) -> Result<(), DocumentError> {
        let Some(content) = self.unfolded(form)? else { return Ok(()) };
        let mut state = state.clone();
        if let Ok(matrix) = form.dict.get_deref(b"Matrix", self.document).and_then(Object::as_array)
            && let Some(matrix) = Matrix::read(matrix)
        {
            state.matrix = matrix.then(state.matrix);
        }
        let own = form.dict.get_deref(b"Resources", self.document).and_then(Object::as_dict).ok();
        self.open.push(std::ptr::from_ref(form));
        let drawn = self.draw(&content, own.or(resources), state, depth + 1);
        self.open.pop();
        drawn
    }

    fn drawn_object(&self, resources: Option<&'a Dictionary>, name: &[u8]) -> Option<DrawnObject<'a>> {
        let objects = resources?.get_deref(b"XObject", self.document).and_then(Object::as_dict).ok()?;
        let object = objects.get_deref(name, self.document).and_then(Object::as_stream).ok()?;
        match object.dict.get_deref(b"Subtype", self.document).and_then(Object::as_name).ok()? {
            b"Form" => Some(DrawnObject::Form(object)),
            b"Image" => Some(DrawnObject::Picture),
            _ => None,
        }
    }

    fn font(
        &mut self,
        resources: Option<&'a Dictionary>,
        name: &[u8],
    ) -> Result<Option<Rc<Font>>, DocumentError> {
        let document = self.document;
        let entry = resources
            .and_then(|resources| resources.get_deref(b"Font", document).and_then(Object::as_dict).ok())
            .and_then(|fonts| fonts.get(name).ok());
        let Some(entry) = entry else { return Ok(None) };
        let Ok((_, Object::Dictionary(dictionary))) = document.dereference(entry) else { return Ok(None) };
        if let Some(font) = self.fonts.get(&std::ptr::from_ref(dictionary)) {
            return Ok(Some(Rc::clone(font)));
        }
        let font = Rc::new(Font::new(document, dictionary, &mut self.budget)?);
        self.fonts.insert(dictionary, Rc::clone(&font));
        Ok(Some(font))
    }

    /// Shows strings. A number between strings moves the pen back by that many thousandths of the text size.
    fn show(&mut self, operands: &[Token<'_>], state: &State, pen: &mut Pen) -> Result<(), DocumentError> {
        for operand in operands {
            self.budget.work(1)?;
            match operand {
                Token::Text(text) => self.show_text(text, state, pen)?,
                Token::Number(back) => {
                    pen.text = Matrix::shift(-back / 1000.0 * state.size * state.stretch, 0.0).then(pen.text);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn show_text(&mut self, bytes: &[u8], state: &State, pen: &mut Pen) -> Result<(), DocumentError> {
        let Some(font) = &state.font else {
            self.page.unreadable += bytes.len();
            return Ok(());
        };
        // One operation may contain a string of any length.
        self.budget.work(bytes.len() / 16)?;
        let shown = font.show(bytes, self.budget.text);
        self.budget.text(shown.text.len())?;
        self.page.unreadable += shown.unreadable;
        let spacing = shown.codes as f32 * state.spacing + shown.blanks as f32 * state.word_spacing;
        let width = (shown.width * state.size + spacing) * state.stretch;

        let place = |pen: &Matrix| Matrix::shift(0.0, state.rise).then(*pen).then(state.matrix);
        let start = place(&pen.text);
        pen.text = Matrix::shift(width, 0.0).then(pen.text);
        let end = place(&pen.text);
        let length = start.a.hypot(start.b);
        let direction = if length > 0.0 { (start.a / length, start.b / length) } else { (1.0, 0.0) };
        let size = state.size.abs() * start.c.hypot(start.d);
        self.lines.add(TextRun {
            text: shown.text,
            start: (start.e, start.f),
            end: (end.e, end.f),
            direction,
            size,
        });
        Ok(())
    }
}

/// Returns the matrix that six operands describe.
fn matrix(operands: &[Token<'_>]) -> Option<Matrix> {
    let mut numbers = [0.0; 6];
    if operands.len() != numbers.len() {
        return None;
    }
    for (number, operand) in numbers.iter_mut().zip(operands) {
        let Token::Number(written) = operand else { return None };
        *number = *written;
    }
    Some(Matrix::new(numbers))
}
